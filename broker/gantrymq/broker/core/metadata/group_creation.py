"""Creates a consumer group when a consumer names one that no administrator created.

When there are CREATED_GROUPS_MAX groups, unused ones are removed to make room (group_expiry.py).
Invariant: requests of consumers create at most CREATED_GROUPS_MAX groups, and none whose name
RocketMQ would refuse.
"""

from __future__ import annotations

from typing import Final

from gantrymq.broker.core.metadata.group_expiry import make_room
from gantrymq.broker.core.names.name_rules import GROUP_CHARACTERS_MAX, RETRY_PREFIX, group_fault
from gantrymq.broker.core.state import State
from gantrymq.broker.core.tables.table_memory import GROUP_BYTES
from gantrymq.wire.bodies.groups import GroupConfig

# System groups: they are created even if autoCreateSubscriptionGroup is off, as in RocketMQ.
SYSTEM_GROUP_PREFIX: Final = "CID_RMQ_SYS_"

# The group's retry topic is a directory of the store, whose name has at most 255 characters.
NAME_CHARACTERS_MAX: Final = GROUP_CHARACTERS_MAX - len(RETRY_PREFIX)

# Each change writes the whole file of groups: with so many groups 8 MB. An administrator may create
# more.
CREATED_GROUPS_MAX: Final = 20_000


def ensure_group(state: State, group: str) -> GroupConfig | None:
    """The group's configuration, created if necessary; None if it does not exist and may not be
    created, for the reason that `why_no_group` gives."""
    if state.groups.used(group, state.now):
        return state.groups.find(group)
    if _name_obstacle(state, group) is not None:
        return None
    if _room_obstacle(state, group) is not None:
        make_room(state)
        if _room_obstacle(state, group) is not None:
            return None
    config = GroupConfig(group_name=group)
    state.groups.create(config, state.wall_ms, state.now)
    state.effects.info(f"auto create a subscription group, {group}")
    return config


def why_no_group(state: State, group: str) -> str:
    """The remark of a SUBSCRIPTION_GROUP_NOT_EXIST answer, after `ensure_group` returned None."""
    obstacle = _obstacle(state, group)
    assert obstacle is not None, f"group {group!r} could be made"
    return f"subscription group [{group}] does not exist, {obstacle}"


def _obstacle(state: State, group: str) -> str | None:
    """Why consumers may not create a group of this name, and what to do; None if they may."""
    return _name_obstacle(state, group) or _room_obstacle(state, group)


def _room_obstacle(state: State, group: str) -> str | None:
    """Why consumers may not create one more group; None if they may."""
    if len(state.groups) >= CREATED_GROUPS_MAX:
        return (
            f"and {CREATED_GROUPS_MAX} groups are all that consumers may make by themselves,"
            " and all of them are used: delete some with mqadmin deleteSubGroup, or create it"
            f" with mqadmin updateSubGroup -g {group}"
        )
    obstacle = state.table_memory.obstacle(GROUP_BYTES)
    return None if obstacle is None else f"and there is no room for it: {obstacle}"


def _name_obstacle(state: State, group: str) -> str | None:
    """Why the name or the settings forbid consumers to create the group; None if they do not."""
    fault = group_fault(group)
    if fault is not None:
        return f"and cannot: {fault}"
    if len(group) > NAME_CHARACTERS_MAX:
        return f"and its name has more than {NAME_CHARACTERS_MAX} characters: shorten it"
    is_system = group.startswith(SYSTEM_GROUP_PREFIX)
    if not is_system and not state.settings.auto_create_subscription_group:
        return (
            "and autoCreateSubscriptionGroup is off: create it with"
            f" mqadmin updateSubGroup -b {state.identity.address} -g {group}"
        )
    return None
