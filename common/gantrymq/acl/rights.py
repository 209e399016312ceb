"""What an account may do with a topic or a group, and what a request needs.

A need names one resource, and what of it: a `Right` of RocketMQ 4, by which accounts of
plain_acl.yml are judged, and the `Action`s of RocketMQ 5, of which policies must allow one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, Flag
from typing import Final, final

from gantrymq.acl.actions import Action

RETRY_PREFIX: Final = "%RETRY%"


class Right(Flag):
    """Sending, receiving, both or neither."""

    DENY = 0
    PUB = 1
    SUB = 2

    def has(self, needed: Right) -> bool:
        """Whether this includes any of the needed right; for DENY never. To combine two flags by
        `&` takes ten times as long, and each request asks."""
        return bool(self._value_ & needed._value_)

    @property
    def text(self) -> str:
        """As plain_acl.yml has it."""
        return "|".join(right.name or "" for right in self) or "DENY"


RIGHTS: Final = {
    "DENY": Right.DENY,
    "PUB": Right.PUB,
    "SUB": Right.SUB,
    "PUB|SUB": Right.PUB | Right.SUB,
    "SUB|PUB": Right.PUB | Right.SUB,
}


class Resource(Enum):
    """What a right is for."""

    TOPIC = "topic"
    GROUP = "group"
    CLUSTER = "cluster"


# What a policy must allow where a request needs a right of RocketMQ 4.
_ACTIONS: Final = {Right.DENY: Action.NONE, Right.PUB: Action.PUB, Right.SUB: Action.SUB}


@final
@dataclass(slots=True)
class Need:
    """The right to a topic or a group that a request needs.

    Made for each request, and a frozen one takes three times as long; treat it as a value.
    """

    resource: Resource
    name: str
    """"" where the resource is the server's own cluster."""
    right: Right
    actions: Action = Action.NONE
    """Any of these; NONE: the one that the right stands for."""

    @property
    def any_of(self) -> Action:
        return self.actions or _ACTIONS[self.right]

    def by(self, actions: Action) -> Need:
        """The same, where policies need other actions than the right stands for."""
        if actions is self.actions:
            return self
        return replace(self, actions=actions)


def topic_need(name: str, right: Right) -> Need:
    """A group's retry topic is the group's own business: to use it is to consume."""
    if name.startswith(RETRY_PREFIX):
        return group_need(name.removeprefix(RETRY_PREFIX))
    return Need(Resource.TOPIC, name, right)


def group_need(name: str) -> Need:
    return Need(Resource.GROUP, name, Right.SUB)


def cluster_need(actions: Action) -> Need:
    """Something of the server as a whole."""
    return Need(Resource.CLUSTER, "", Right.DENY, actions)


def consuming_needs(topic: str, group: str) -> tuple[Need, ...]:
    """SUB of what a group consumes, which may be where it pops messages of a topic again:
    %RETRY%group_topic, or with a + between them."""
    rest = topic.removeprefix(RETRY_PREFIX + group)
    if group and rest != topic and rest[:1] in ("_", "+"):
        return group_need(group), topic_need(rest[1:], Right.SUB)
    return (topic_need(topic, Right.SUB),)
