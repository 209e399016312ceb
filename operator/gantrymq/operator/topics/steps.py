"""Defines the steps of a plan for topics: requests, order entries, finalizers and statuses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, final

from gantrymq.operator.topics.values import (
    FINALIZER,
    BrokerTopic,
    DrainQuestion,
    TopicResource,
    TopicStatus,
)

BATCH_TOPICS: Final = 500
"""The most topics of one request. A broker serves no messages while it handles a request; with
this many topics that takes a few milliseconds."""


@final
@dataclass(frozen=True, slots=True)
class Change:
    """Create a topic at the master of a group, or change it there."""

    group: str
    address: str
    topic: str
    config: BrokerTopic
    before: BrokerTopic | None
    """The topic at the broker; None if it is new."""


@final
@dataclass(frozen=True, slots=True)
class Removal:
    """Delete a topic, with its messages, at the master of a group."""

    group: str
    address: str
    topic: str


@final
@dataclass(frozen=True, slots=True)
class OrderEntry:
    """The queues of an ordered topic, at one name server."""

    name_server: str
    topic: str
    value: str | None
    """None deletes the entry."""


@final
@dataclass(frozen=True, slots=True)
class TopicStep:
    """The actions for one Topic now, in the order of the fields."""

    resource: TopicResource
    reason: str
    finalizers: tuple[str, ...] | None = None
    """All finalizers of the resource after the step. The operator's finalizer is added before any
    request to brokers, and removed after everything else."""
    changes: tuple[Change, ...] = ()
    removals: tuple[Removal, ...] = ()
    order: tuple[OrderEntry, ...] = ()
    status: TopicStatus | None = None
    """The status after the other actions; None if it does not change."""

    @property
    def adds_finalizer(self) -> bool:
        return self.finalizers is not None and FINALIZER in self.finalizers

    @property
    def drops_finalizer(self) -> bool:
        return self.finalizers is not None and FINALIZER not in self.finalizers

    @property
    def is_empty(self) -> bool:
        """Whether the step has no actions."""
        broker_calls = self.changes or self.removals or self.order
        return not broker_calls and self.finalizers is None and self.status is None


@final
@dataclass(frozen=True, slots=True)
class TopicsPlan:
    """The plan for the topics of a cluster. An empty plan means that all topics are as wanted."""

    steps: tuple[TopicStep, ...] = ()
    questions: tuple[DrainQuestion, ...] = ()
    """The questions whose answers the next plan needs."""
    unmanaged: tuple[str, ...] | None = None
    """Topics on brokers that no resource names; None if no broker could be read."""
    requeue_seconds: float | None = None
    """When to plan again without an event."""


def batches(steps: Iterable[TopicStep]) -> dict[str, list[list[Change]]]:
    """Return the changes of these steps by master, in requests of a bounded size."""
    by_master: dict[str, list[list[Change]]] = {}
    for step in steps:
        for change in step.changes:
            requests = by_master.setdefault(change.address, [[]])
            if len(requests[-1]) >= BATCH_TOPICS:
                requests.append([])
            requests[-1].append(change)
    return by_master


def attribute_changes(change: Change) -> dict[str, str]:
    """Return the attributes of a change in a request's format: those that differ, with signs."""
    current = dict(change.before.attributes) if change.before is not None else {}
    wanted = change.config.attributes
    return {f"+{key}": value for key, value in wanted if current.get(key) != value}
