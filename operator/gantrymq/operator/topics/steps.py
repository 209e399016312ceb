"""What a plan for topics asks for: broker calls, name-server entries, finalizers and statuses."""

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
"""Topics of one request. A broker takes a whole request in one turn of its loop, in which it serves
no message; this many take it a few milliseconds."""


@final
@dataclass(frozen=True, slots=True)
class Change:
    """Create a topic at the master of a group, or change it there."""

    group: str
    address: str
    topic: str
    config: BrokerTopic
    before: BrokerTopic | None
    """What the broker has; None when the topic is new."""


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
    """None: delete the entry."""


@final
@dataclass(frozen=True, slots=True)
class TopicStep:
    """All that is to be done for one Topic now, in the order of the fields."""

    resource: TopicResource
    reason: str
    finalizers: tuple[str, ...] | None = None
    """All finalizers that the resource shall have. An own one that is new is written before the
    brokers are asked for anything; one that goes, after everything else."""
    changes: tuple[Change, ...] = ()
    removals: tuple[Removal, ...] = ()
    order: tuple[OrderEntry, ...] = ()
    status: TopicStatus | None = None
    """What the status says once the rest was done; None when it says so already."""

    @property
    def adds_finalizer(self) -> bool:
        return self.finalizers is not None and FINALIZER in self.finalizers

    @property
    def drops_finalizer(self) -> bool:
        return self.finalizers is not None and FINALIZER not in self.finalizers

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be done."""
        broker_calls = self.changes or self.removals or self.order
        return not broker_calls and self.finalizers is None and self.status is None


@final
@dataclass(frozen=True, slots=True)
class TopicsPlan:
    """What to do for the topics of a cluster; an empty plan means that all is as it shall be."""

    steps: tuple[TopicStep, ...] = ()
    questions: tuple[DrainQuestion, ...] = ()
    """To ask before the next plan, which decides by the answers."""
    unmanaged: tuple[str, ...] | None = None
    """Topics on brokers that no resource names; None when no broker could be read."""
    requeue_seconds: float | None = None
    """When to look again without an event."""


def batches(steps: Iterable[TopicStep]) -> dict[str, list[list[Change]]]:
    """The changes of these steps by master, in requests of a bounded size."""
    by_master: dict[str, list[list[Change]]] = {}
    for step in steps:
        for change in step.changes:
            requests = by_master.setdefault(change.address, [[]])
            if len(requests[-1]) >= BATCH_TOPICS:
                requests.append([])
            requests[-1].append(change)
    return by_master


def attribute_changes(change: Change) -> dict[str, str]:
    """The attributes of a change in the form a request has them: those that differ, signed."""
    current = dict(change.before.attributes) if change.before is not None else {}
    wanted = change.config.attributes
    return {f"+{key}": value for key, value in wanted if current.get(key) != value}
