"""Audits the results of Java's clients against the queues of the master.

Every message that was answered SEND_OK is stored at the answered offset; no offset was answered
twice; the push consumer received every one of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, final

from gantrymq.cycles.clients.audit import read_queue
from gantrymq.cycles.clients.ledger import Ledger, Places, identity
from gantrymq.cycles.gaps import SECOND_NS, longest_seconds, rate_before
from gantrymq.cycles.records import Status
from gantrymq.e2e.java_client import JavaLoad
from gantrymq.e2e.kubectl import wait_until
from gantrymq.interop.wire import connect

PRODUCERS: Final = ("java-sync", "java-async")
CONSUMER: Final = "java-push"
SHOWN_MAX: Final = 10
CONSUME_SECONDS: Final = 60.0


@final
@dataclass(slots=True)
class ClientResults:
    """All sends and deliveries that the clients recorded so far; `take` adds the new ones."""

    queues: int
    ledger: Ledger = field(init=False)
    acknowledged_ns: list[int] = field(default_factory=list)
    delivered_ns: list[int] = field(default_factory=list)
    failed_ns: list[int] = field(default_factory=list)
    other: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.queues, (CONSUMER,))

    def take(self, load: JavaLoad) -> None:
        load.fetch()
        for producer in PRODUCERS:
            for record in load.take(producer):
                if record.status == Status.SEND_OK:
                    message = identity(record.sender, record.number)
                    self.ledger.acknowledge(record.queue, record.offset, message)
                    self.acknowledged_ns.append(record.at_ns)
                elif record.status == Status.EXCEPTION:
                    self.failed_ns.append(record.at_ns)
                else:
                    self.other[Status(record.status).name] += 1
        for record in load.take(CONSUMER):
            message = identity(record.sender, record.number)
            self.ledger.give(CONSUMER, record.queue, record.offset, message)
            self.delivered_ns.append(record.at_ns)


@final
@dataclass(frozen=True, slots=True)
class Strike:
    """One fault, by the machine's monotonic clock."""

    kind: str
    began_ns: int
    ended_ns: int
    has_moved: bool
    """Whether another member holds the Lease afterwards."""


@final
@dataclass(frozen=True, slots=True)
class Effect:
    """What producers and the consumer saw of one fault; seconds, and numbers of sends."""

    kind: str
    rate: int
    gap: float
    consumer_gap: float
    failed: int
    has_moved: bool


def effect(strike: Strike, results: ClientResults) -> Effect:
    """The gaps and failures of one fault."""
    began, ended = strike.began_ns, strike.ended_ns
    return Effect(
        strike.kind,
        rate_before(results.acknowledged_ns, began),
        longest_seconds(results.acknowledged_ns, began, ended),
        longest_seconds(results.delivered_ns, began, ended),
        sum(began <= each <= ended + SECOND_NS for each in results.failed_ns),
        strike.has_moved,
    )


def table(effects: Sequence[Effect]) -> str:
    """A line for each kind of fault: count, moves, rate, gaps p50 and max, failed sends."""
    form = "{:<28}{:>4}{:>7}{:>7}{:>8}{:>8}{:>11}{:>8}"
    lines = [form.format("fault", "n", "moved", "rate", "p50", "max", "consumer", "failed")]
    for kind in dict.fromkeys(each.kind for each in effects):
        some = [each for each in effects if each.kind == kind]
        gaps = sorted(each.gap for each in some)
        lines.append(
            form.format(
                kind, len(some), sum(each.has_moved for each in some),
                min(each.rate for each in some), f"{gaps[len(gaps) // 2]:.2f}", f"{gaps[-1]:.2f}",
                f"{max(each.consumer_gap for each in some):.2f}", sum(e.failed for e in some),
            )
        )  # fmt: skip
    return "\n".join(lines)


def audit(results: ClientResults, load: JavaLoad, master: str, topic: str) -> list[str]:
    """The faults found; none when every acknowledged message is stored at its answered offset.
    Producers have stopped."""
    stored = Places(results.queues)
    faults: list[str] = []
    with connect(master) as connection:
        for queue in range(results.queues):
            faults += read_queue(connection, topic, queue, stored)
    _wait_for_the_consumer(results, load)
    faults += [f"acknowledged twice: {each}" for each in islice(results.ledger.doubles, SHOWN_MAX)]
    for place, words in ((stored, "lost"), (results.ledger.given[CONSUMER], "not delivered")):
        lacking = list(results.ledger.acknowledged.missing(place))
        faults += [f"{words}, one of {len(lacking)}: {each}" for each in lacking[:SHOWN_MAX]]
    return faults


def _wait_for_the_consumer(results: ClientResults, load: JavaLoad) -> None:
    """Waits until the consumer has received all, or CONSUME_SECONDS; the audit names the rest."""

    def has_all() -> bool:
        results.take(load)
        return not any(results.ledger.acknowledged.missing(results.ledger.given[CONSUMER]))

    try:
        wait_until(has_all, "the consumer has all", CONSUME_SECONDS)
    except AssertionError:
        return
