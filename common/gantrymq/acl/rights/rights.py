"""Defines rights to topics and groups, and what a request needs.

A need names one resource and what is needed of it: a `Right` of RocketMQ 4, by which accounts of
plain_acl.yml are judged, and `Action`s of RocketMQ 5, one of which a policy must allow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, Flag
from typing import Final, final

from gantrymq.acl.rights.actions import Action

RETRY_PREFIX: Final = "%RETRY%"


class Right(Flag):
    """Sending, receiving, both or neither."""

    DENY = 0
    PUB = 1
    SUB = 2

    def has(self, needed: Right) -> bool:
        """Whether this includes any part of the needed right; never for DENY.

        Works on the values: combining two flags by `&` takes ten times as long, and each request
        asks.
        """
        return bool(self._value_ & needed._value_)

    @property
    def text(self) -> str:
        """The right as plain_acl.yml writes it."""
        return "|".join(right.name or "" for right in self) or "DENY"


RIGHTS: Final = {
    "DENY": Right.DENY,
    "PUB": Right.PUB,
    "SUB": Right.SUB,
    "PUB|SUB": Right.PUB | Right.SUB,
    "SUB|PUB": Right.PUB | Right.SUB,
}


class Resource(Enum):
    """The kind of resource that a right is for."""

    TOPIC = "topic"
    GROUP = "group"
    CLUSTER = "cluster"


# The action that a policy must allow if a request needs a right of RocketMQ 4.
_ACTIONS: Final = {Right.DENY: Action.NONE, Right.PUB: Action.PUB, Right.SUB: Action.SUB}


@final
@dataclass(slots=True)
class Need:
    """A right to one resource that a request needs.

    One is made for each request. A frozen dataclass would take three times as long; treat this as
    immutable.
    """

    resource: Resource
    name: str
    """Empty if the resource is the server's own cluster."""
    right: Right
    actions: Action = Action.NONE
    """Any of these suffices; NONE means the action that corresponds to `right`."""

    @property
    def any_of(self) -> Action:
        return self.actions or _ACTIONS[self.right]

    def by(self, actions: Action) -> Need:
        """The same need with other actions for policies."""
        if actions is self.actions:
            return self
        return replace(self, actions=actions)


def topic_need(name: str, right: Right) -> Need:
    """The need for a topic; a retry topic needs the right to its group, because using it is
    consuming."""
    if name.startswith(RETRY_PREFIX):
        return group_need(name.removeprefix(RETRY_PREFIX))
    return Need(Resource.TOPIC, name, right)


def group_need(name: str) -> Need:
    return Need(Resource.GROUP, name, Right.SUB)


def cluster_need(actions: Action) -> Need:
    """The need for an action on the server as a whole."""
    return Need(Resource.CLUSTER, "", Right.DENY, actions)


def consuming_needs(topic: str, group: str) -> tuple[Need, ...]:
    """The needs of consuming a topic.

    A pop retry topic, %RETRY%group_topic or with a + in between, needs its group and its topic.
    """
    rest = topic.removeprefix(RETRY_PREFIX + group)
    if group and rest != topic and rest[:1] in ("_", "+"):
        return group_need(group), topic_need(rest[1:], Right.SUB)
    return (topic_need(topic, Right.SUB),)
