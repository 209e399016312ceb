"""Declares the spec of a Topic: its queues on every group of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final, final

from gantrymq.operator.resources.fields import Rule, Text, described
from gantrymq.operator.resources.names import CLUSTER_NAME, GROUPS_MAX, TOPIC_NAME
from gantrymq.operator.resources.topic.topic_rules import (
    ATTRIBUTE_RULES,
    CLUSTER_RULES,
    GROUP_QUEUE_RULES,
    GROUP_RULES,
    QUEUE_RULES,
    RESOURCE_RULES,
    TOPIC_NAME_RULES,
)

QUEUES_MAX: Final = 1024
"""The most queues of a topic on one group. 64 groups have 65 536, and a route may have 100 000."""
_ATTRIBUTES_MAX: Final = 16
_AS_WRITE_QUEUES: Final = 0


@final
class Permission(StrEnum):
    """What clients may do with a topic."""

    READ_WRITE = "RW"
    READ = "R"
    WRITE = "W"

    @property
    def number(self) -> int:
        """RocketMQ's number: 4 is read, 2 is write."""
        return {"RW": 6, "R": 4, "W": 2}[self.value]


@final
class DeletionPolicy(StrEnum):
    """What happens to the topic when its resource is deleted."""

    RETAIN = "Retain"
    DELETE = "Delete"
    DELETE_WHEN_DRAINED = "DeleteWhenDrained"


@final
@dataclass(frozen=True, slots=True)
class QueueCounts:
    """Queues of a topic on one group."""

    write: int
    read: int


@final
@dataclass(frozen=True, slots=True)
class GroupQueues:
    """Queue counts on one group that differ from the topic's own."""

    RULES: ClassVar[tuple[Rule, ...]] = GROUP_QUEUE_RULES

    write_queues: int | None = described(
        "Queues that producers send to on this group. 0 keeps new messages away from the group.",
        None,
        minimum=0,
        maximum=QUEUES_MAX,
        default_words="spec.writeQueues",
    )
    read_queues: int | None = described(
        "Queues that consumers read on this group.",
        None,
        minimum=0,
        maximum=QUEUES_MAX,
        default_words="writeQueues of this group, if given here, else spec.readQueues",
    )


@final
@dataclass(frozen=True, slots=True)
class TopicSpec:
    """The spec of a Topic. `parse_topic` fills the fields that depend on other fields."""

    RULES: ClassVar[tuple[Rule, ...]] = (*QUEUE_RULES, *GROUP_RULES)
    RESOURCE_RULES: ClassVar[tuple[Rule, ...]] = RESOURCE_RULES

    cluster: str = described(
        "Name of the BrokerCluster, in the same namespace, that has the topic. It cannot be changed"
        " after creation.",
        text=CLUSTER_NAME,
        rules=CLUSTER_RULES,
        example="orders",
    )
    topic_name: str = described(
        "Name of the topic, if a Kubernetes object cannot have it: RocketMQ allows capitals and"
        " % | _ -, and at most 127 characters. It cannot be changed after creation.",
        "",
        text=TOPIC_NAME,
        rules=TOPIC_NAME_RULES,
        default_words="metadata.name",
        example="OrderEvents_EU",
    )
    write_queues: int = described(
        "Queues of the topic on each group that producers send to. When it is reduced, consumers"
        " continue to read the surplus queues until they are empty.",
        4,
        minimum=1,
        maximum=QUEUES_MAX,
        example="8",
    )
    read_queues: int = described(
        "Queues of the topic on each group that consumers read. At least writeQueues. Seldom"
        " needed.",
        _AS_WRITE_QUEUES,
        minimum=1,
        maximum=QUEUES_MAX,
        default_words="writeQueues",
    )
    perm: Permission = described(
        "What clients may do: `RW` send and receive, `R` only receive, `W` only send.",
        Permission.READ_WRITE,
    )
    order: bool = described(
        "Whether the topic is ordered: its queues stay the same while a group is unavailable.",
        False,
    )
    groups: Mapping[str, GroupQueues] = described(
        "Queue counts on single groups, by the name of the group. A group that is not named has"
        " writeQueues and readQueues.",
        factory=dict,
        max_items=GROUPS_MAX,
        default_words="all groups alike",
        example="{broker-1: {writeQueues: 8}}",
    )
    attributes: Mapping[str, str] = described(
        "Attributes of RocketMQ 5: message.type is UNSPECIFIED, NORMAL, FIFO, DELAY or TRANSACTION;"
        " reserve.time is the number of hours after which consumers no longer find a message.",
        factory=dict,
        text=Text(64),
        max_items=_ATTRIBUTES_MAX,
        rules=ATTRIBUTE_RULES,
        default_words="none",
        example="{message.type: FIFO}",
    )
    adopt: bool = described(
        "Whether a topic that already exists with another configuration is taken over and changed."
        " Otherwise the resource reports the differences and changes nothing.",
        False,
    )
    deletion_policy: DeletionPolicy = described(
        "What happens to the topic when this resource is deleted: `Retain` keeps it, `Delete`"
        " removes it with its messages, `DeleteWhenDrained` removes it once all consumer groups"
        " have consumed all messages.",
        DeletionPolicy.RETAIN,
    )

    def queues(self, group: str) -> QueueCounts:
        """Return the queues wanted on one group."""
        own = self.groups.get(group)
        if own is None or (own.write_queues is None and own.read_queues is None):
            return QueueCounts(self.write_queues, self.read_queues)
        if own.write_queues is None:
            return QueueCounts(self.write_queues, own.read_queues or self.read_queues)
        read = own.write_queues if own.read_queues is None else own.read_queues
        return QueueCounts(own.write_queues, read)
