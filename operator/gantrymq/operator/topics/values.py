"""Defines the values of a plan for topics: resources, brokers' tables, drained queues, cluster.

There may be 20 000 topics, so a resource is reduced and has slots, and `reading` lets resources
share equal parts (queue counts, group entries, texts).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias, final

from gantrymq.operator.resources.topic.topic import DeletionPolicy, Permission, QueueCounts

FINALIZER: Final = "gantrymq.dev/topic"

READ_WRITE: Final = Permission.READ_WRITE.number
PERM_NAMES: Final[Mapping[int, str]] = {each.number: each.value for each in Permission}

Place: TypeAlias = tuple[str, str]
"""A group and the name of a topic in it."""


class ClusterStage(Enum):
    """Whether the BrokerCluster that topics name can be served."""

    MISSING = "missing"
    PRESENT = "present"
    TERMINATING = "terminating"


@final
@dataclass(frozen=True, slots=True)
class TopicSpec:
    """The `spec` of a Topic, valid, with defaults filled and equal parts shared."""

    cluster: str
    topic_name: str
    queues: QueueCounts = QueueCounts(4, 4)  # noqa: RUF009 - frozen
    perm: int = READ_WRITE
    order: bool = False
    groups: tuple[tuple[str, QueueCounts], ...] = ()
    """Groups with queue counts of their own."""
    attributes: tuple[tuple[str, str], ...] = ()
    """The managed attributes. Others of the broker's topic are not changed."""
    adopt: bool = False
    deletion_policy: DeletionPolicy = DeletionPolicy.RETAIN

    def queues_of(self, group: str) -> QueueCounts:
        """Return the queue counts wanted on one group."""
        for name, queues in self.groups:
            if name == group:
                return queues
        return self.queues


@final
@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a Topic; `since` is its lastTransitionTime."""

    type: str
    is_true: bool
    reason: str
    message: str
    since: str


@final
@dataclass(frozen=True, slots=True)
class GroupStatus:
    """A topic as one group has it."""

    name: str
    write: int
    read: int
    perm: str


@final
@dataclass(frozen=True, slots=True)
class TopicStatus:
    """The `status` of a Topic. Its `message` and `queues` are derived when it is written."""

    observed_generation: int = 0
    phase: str = ""
    topic_name: str = ""
    conditions: tuple[Condition, ...] = ()
    groups: tuple[GroupStatus, ...] = ()
    drift: tuple[str, ...] = ()
    created: bool = False

    def condition(self, kind: str) -> Condition | None:
        """Return the condition of this type, if there is one."""
        for condition in self.conditions:
            if condition.type == kind:
                return condition
        return None

    def group(self, name: str) -> GroupStatus | None:
        """Return the record of one group."""
        for group in self.groups:
            if group.name == name:
                return group
        return None


@final
@dataclass(frozen=True, slots=True)
class TopicResource:
    """A Topic, reduced to the fields that a plan needs."""

    namespace: str
    name: str
    uid: str
    created: str
    """creationTimestamp: RFC 3339 in UTC, so texts compare as times."""
    generation: int
    resource_version: str
    cluster: str
    """Set even if the spec is invalid; empty if the field itself cannot be read."""
    spec: TopicSpec | None
    problem: str = ""
    """Why there is no spec."""
    status: TopicStatus = TopicStatus()
    finalizers: tuple[str, ...] = ()
    deleted: float | None = None
    """deletionTimestamp, in seconds since 1970."""

    @property
    def age_key(self) -> tuple[str, str]:
        """The sort key by age: the smaller one is the older resource."""
        return self.created, self.uid


@final
@dataclass(frozen=True, slots=True)
class BrokerTopic:
    """A topic as a broker has it, or is wanted to have it. A table shares equal ones."""

    write: int
    read: int
    perm: int = READ_WRITE
    order: bool = False
    attributes: tuple[tuple[str, str], ...] = ()
    filter_type: str = "SINGLE_TAG"
    system_flag: int = 0


@final
@dataclass(frozen=True, slots=True)
class TopicTable:
    """All topics of one master. `version` changes whenever the broker's DataVersion does."""

    version: int
    topics: Mapping[str, BrokerTopic]
    system: frozenset[str] = frozenset()
    """What the broker calls topics of its own."""


@final
@dataclass(frozen=True, slots=True)
class GroupView:
    """A group of the cluster, and what its master answered."""

    name: str
    address: str = ""
    """The master's address; empty if the group has none."""
    table: TopicTable | None = None
    why: str = ""
    """Why the table could not be read."""


@final
@dataclass(frozen=True, slots=True)
class ClusterView:
    """The fields of the BrokerCluster that topics need."""

    namespace: str
    name: str
    stage: ClusterStage
    groups: tuple[GroupView, ...] | None
    """The groups that the cluster has or will have; None if not known yet."""
    namespace_is_terminating: bool = False
    is_paused: bool = False


@final
@dataclass(frozen=True, slots=True)
class DrainQuestion:
    """The question whether every consumer group has consumed the queues from `first_queue` on."""

    group: str
    address: str
    topic: str
    first_queue: int

    @property
    def place(self) -> Place:
        return self.group, self.topic


@final
@dataclass(frozen=True, slots=True)
class DrainAnswer:
    """Queues of one topic on one broker that hold messages which still wait for a consumer."""

    behind: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Consumer groups, and the queues that they have not finished."""
    unread: tuple[int, ...] = ()
    """Queues with messages in a topic that no consumer group consumes."""
    last_stored: float = 0.0
    """When the newest message was stored, in seconds since 1970."""

    @property
    def is_drained(self) -> bool:
        return not self.behind and not self.unread


@final
@dataclass(frozen=True, slots=True)
class Refusal:
    """A failed request for this configuration, which is not repeated before `retry_at`."""

    config: BrokerTopic | None
    """None for a deletion."""
    why: str
    retry_at: float


@final
@dataclass(frozen=True, slots=True)
class TopicsSnapshot:
    """All that a plan for the topics of one cluster uses."""

    cluster: ClusterView
    topics: Sequence[TopicResource]
    drained: Mapping[Place, DrainAnswer] = field(default_factory=dict)
    """Answers to the questions of the plan before, in this run."""
    refusals: Mapping[Place, Refusal] = field(default_factory=dict)
    order: Mapping[str, Mapping[str, str] | None] = field(default_factory=dict)
    """By name server: the order entries; None if they could not be read. Empty if no topic needs
    them."""
    made: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By uid: groups on which this operator created the topic, although the resource's status does
    not say so yet."""

    def owns(self, resource: TopicResource, group: str) -> bool:
        """Whether the topic of this group was created or adopted for the resource."""
        if resource.status.group(group) is not None:
            return True
        return group in self.made.get(resource.uid, ())
