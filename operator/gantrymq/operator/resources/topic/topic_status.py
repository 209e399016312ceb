"""Declares the status of a Topic."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, final

from gantrymq.operator.resources.encoding import to_json
from gantrymq.operator.resources.fields import reported
from gantrymq.operator.resources.reasons.condition_list import Condition


@final
class TopicPhase(StrEnum):
    """The state of a topic in one word."""

    WAITING = "Waiting"
    """It waits for its cluster or for a master."""
    READY = "Ready"
    """All groups have the topic as it is wanted."""
    SHRINKING = "Shrinking"
    """It is as wanted apart from surplus read queues, which are not empty yet."""
    INVALID = "Invalid"
    """The spec cannot be used."""
    CONFLICT = "Conflict"
    """Another Topic has the name, or the topic differs and may not be changed."""
    REFUSED = "Refused"
    """A broker refused the topic."""
    PAUSED = "Paused"
    """The cluster is paused, and the topic is not as it is wanted."""
    DELETING = "Deleting"
    """The resource is being deleted."""


@final
@dataclass(frozen=True, slots=True)
class TopicGroupStatus:
    """The topic on one group, as the broker has it."""

    name: str = reported("Name of the group.", "")
    write_queues: int = reported("Queues that producers send to.", 0)
    read_queues: int = reported("Queues that consumers read.", 0)
    perm: str = reported("RW, R or W.", "")


@final
@dataclass(frozen=True, slots=True)
class TopicStatus:
    """The status of a Topic."""

    observed_generation: int = reported("The metadata.generation that this status is about.", 0)
    phase: TopicPhase = reported(
        f"The state in one word: {', '.join(TopicPhase)}.", TopicPhase.WAITING
    )
    conditions: tuple[Condition, ...] = reported(
        "Conditions of the topic, with reasons.", (), map_key="type"
    )
    topic_name: str = reported("Name of the topic on the brokers.", "")
    queues: str = reported(
        "Write and read queues on each group, such as 4/4; `mixed` where groups differ.", ""
    )
    groups: tuple[TopicGroupStatus, ...] = reported(
        "The topic on each group, as the broker has it.", (), map_key="name"
    )
    message: str = reported("What the operator waits for, or did last, in words.", "")
    drift: tuple[str, ...] = reported(
        "The last changes by hand on a broker that the operator reverted.", ()
    )
    created: bool = reported(
        "Whether this resource created or adopted the topic. Otherwise no deletion policy"
        " removes it.",
        False,
    )

    def to_json(self) -> dict[str, Any]:
        """The `status` of the resource."""
        status: dict[str, Any] = to_json(self)
        return status
