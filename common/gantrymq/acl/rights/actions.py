"""Defines the actions that RocketMQ 5's policies allow or deny."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Flag
from typing import Final


class Action(Flag):
    """One or more actions. A request needs any of several; a policy grants some or all."""

    NONE = 0
    PUB = 1
    SUB = 2
    CREATE = 4
    UPDATE = 8
    DELETE = 16
    GET = 32
    LIST = 64
    ALL = 127


_NAMES: Final = {
    Action.PUB: "Pub",
    Action.SUB: "Sub",
    Action.CREATE: "Create",
    Action.UPDATE: "Update",
    Action.DELETE: "Delete",
    Action.GET: "Get",
    Action.LIST: "List",
}
_BY_NAME: Final = {name.lower(): action for action, name in _NAMES.items()} | {"all": Action.ALL}


def action_of(name: str) -> Action | None:
    """The action with this name, in any case; None if there is none."""
    return _BY_NAME.get(name.lower())


def action_names(actions: Action) -> list[str]:
    """The names as policies have them: `All`, or each action's name."""
    if actions == Action.ALL:
        return ["All"]
    return [_NAMES[action] for action in _NAMES if action & actions]


def union_of(actions: Iterable[Action]) -> Action:
    found = Action.NONE
    for action in actions:
        found |= action
    return found
