"""Values that a plan for topics looks at: resources, brokers' tables, drained queues, the cluster.

There may be 20 000 topics, so a resource is kept reduced, with slots, and what many have in common
(queue counts, group entries, texts) is shared by `reading`.
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
    """Those that are managed; others of the broker's topic are left as they are."""
    adopt: bool = False
    deletion_policy: DeletionPolicy = DeletionPolicy.RETAIN

    def queues_of(self, group: str) -> QueueCounts:
        """The counts that one group shall have."""
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
    """The `status` of a Topic; `message` and `queues` of it are derived when it is written."""

    observed_generation: int = 0
    phase: str = ""
    topic_name: str = ""
    conditions: tuple[Condition, ...] = ()
    groups: tuple[GroupStatus, ...] = ()
    drift: tuple[str, ...] = ()
    created: bool = False

    def condition(self, kind: str) -> Condition | None:
        """The condition of this type, if there is one."""
        for condition in self.conditions:
            if condition.type == kind:
                return condition
        return None

    def group(self, name: str) -> GroupStatus | None:
        """What was recorded of one group."""
        for group in self.groups:
            if group.name == name:
                return group
        return None


@final
@dataclass(frozen=True, slots=True)
class TopicResource:
    """A Topic, reduced to what a plan needs."""

    namespace: str
    name: str
    uid: str
    created: str
    """creationTimestamp: RFC 3339 in UTC, so texts compare as times."""
    generation: int
    resource_version: str
    cluster: str
    """Also of a resource whose spec is not valid; empty when not even this can be read."""
    spec: TopicSpec | None
    problem: str = ""
    """Why there is no spec."""
    status: TopicStatus = TopicStatus()
    finalizers: tuple[str, ...] = ()
    deleted: float | None = None
    """deletionTimestamp, in seconds since 1970."""

    @property
    def age_key(self) -> tuple[str, str]:
        """The smaller one is the older resource."""
        return self.created, self.uid


@final
@dataclass(frozen=True, slots=True)
class BrokerTopic:
    """A topic as a broker has it, or shall have it; equal ones of a table are one object."""

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
    """All topics of one master; `version` changes whenever the broker's DataVersion does."""

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
    """The master's; empty when the group has none."""
    table: TopicTable | None = None
    why: str = ""
    """Why the table could not be read."""


@final
@dataclass(frozen=True, slots=True)
class ClusterView:
    """The BrokerCluster, as far as topics need it."""

    namespace: str
    name: str
    stage: ClusterStage
    groups: tuple[GroupView, ...] | None
    """The groups that the cluster shall have; None when not known yet."""
    namespace_is_terminating: bool = False
    is_paused: bool = False


@final
@dataclass(frozen=True, slots=True)
class DrainQuestion:
    """Whether the queues from `first_queue` on were consumed by every consumer group."""

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
    """Consumer groups and the queues they have not finished."""
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
    """A broker, or the way to it, refused this configuration; it is not tried before `retry_at`."""

    config: BrokerTopic | None
    """None: a deletion."""
    why: str
    retry_at: float


@final
@dataclass(frozen=True, slots=True)
class TopicsSnapshot:
    """Everything that a plan for the topics of one cluster may look at."""

    cluster: ClusterView
    topics: Sequence[TopicResource]
    drained: Mapping[Place, DrainAnswer] = field(default_factory=dict)
    """Answers to the questions of the plan before, in this run."""
    refusals: Mapping[Place, Refusal] = field(default_factory=dict)
    order: Mapping[str, Mapping[str, str] | None] = field(default_factory=dict)
    """By name server: queues of ordered topics; None where it could not be read. Empty when no
    topic needs it."""
    made: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By uid: groups on which this operator made the topic, although the resource's status does
    not say so yet."""

    def owns(self, resource: TopicResource, group: str) -> bool:
        """Whether the topic of this group was made, adopted or taken over for the resource."""
        if resource.status.group(group) is not None:
            return True
        return group in self.made.get(resource.uid, ())
