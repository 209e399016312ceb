"""Tests one group of Java's clients and Gantry's, at Java's broker and at Gantry's.

Queues are shared without overlap or gap while members join, leave and are killed, and no message is
lost.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from gantrymq.client import ConsistentHash, average, average_by_circle
from gantrymq.client.core.group.allocation import Allocate
from gantrymq.interop.broker_kinds import BrokerKind
from gantrymq.interop.client_kinds import JAVA, OWN
from gantrymq.interop.clients.clients import Client
from gantrymq.interop.clients.mixed_group import (
    MixedGroup,
    assert_in_order,
    assert_shared_without_overlap,
)
from gantrymq.interop.servers import Broker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(400)]

BROKERS = (BrokerKind.GANTRY, BrokerKind.JAVA)


@dataclass(frozen=True, slots=True)
class Case:
    """How a group shares its queues, and whose process the test kills."""

    name: str
    strategy: str
    allocate: Allocate
    orderly: bool = False
    victim_is_java: bool = False


CASES = (
    Case("average, one of Java's is killed", "average", average, victim_is_java=True),
    Case("by circle", "circle", average_by_circle),
    Case("consistent hash", "hash", ConsistentHash()),
    Case("orderly", "average", average, orderly=True),
)
PAIRS = [(kind, case) for kind in BROKERS for case in CASES]


def play(case: Case, group: MixedGroup, java: Client, own: Client, victim: Client) -> None:
    """Members join and leave; after each change the group settles."""
    with group:
        group.join("a", java)
        group.start_sending(own)
        group.settle(case.allocate)
        group.join("b", own)
        group.join("c", victim)
        group.settle(case.allocate)
        if case.orderly:  # brokers keep the locks of a killed client for a minute
            group.leave("c")
        else:
            victim.kill()
            group.killed("c")
        group.settle(case.allocate)
        group.join("d", java)
        group.leave("a")
        group.settle(case.allocate)
        group.finish()


@pytest.fixture(scope="module")
def plays(
    request: pytest.FixtureRequest,
    folder: Callable[[str], Path],
    brokers: Callable[[BrokerKind], Broker],
) -> Iterator[Callable[[BrokerKind, Case], MixedGroup]]:
    """All plays of this run; they start together. Returns the group when its play has ended."""
    wanted = {item.name for item in request.session.items}
    groups: dict[tuple[BrokerKind, Case], MixedGroup] = {}
    outcomes: dict[tuple[BrokerKind, Case], Future[None]] = {}
    for kind in BROKERS:
        if any(f"[{kind.value}: " in name for name in wanted):
            brokers(kind)  # a JVM starts slowly while everything else starts as well
    with ExitStack() as running:
        java, own = (
            running.enter_context(Client(kind.name, folder("client"), kind.command))
            for kind in (JAVA, OWN)
        )
        hands = running.enter_context(ThreadPoolExecutor(len(PAIRS)))
        for number, (kind, case) in enumerate(PAIRS):
            if f"{test_a_mixed_group.__name__}[{kind.value}: {case.name}]" not in wanted:
                continue
            doomed = JAVA if case.victim_is_java else OWN
            victim = Client(f"victim {number}", folder("victim"), doomed.command)
            running.callback(victim.kill)
            group = groups[kind, case] = MixedGroup(
                brokers(kind), str(number), folder("mixed"), case.strategy, orderly=case.orderly
            )
            outcomes[kind, case] = hands.submit(play, case, group, java, own, victim)

        def ended(kind: BrokerKind, case: Case) -> MixedGroup:
            outcomes[kind, case].result()
            return groups[kind, case]

        yield ended


@pytest.mark.parametrize(
    ("kind", "case"), PAIRS, ids=[f"{kind.value}: {case.name}" for kind, case in PAIRS]
)
def test_a_mixed_group(
    plays: Callable[[BrokerKind, Case], MixedGroup],
    record_property: Callable[[str, object], None],
    kind: BrokerKind,
    case: Case,
) -> None:
    group = plays(kind, case)
    assert_shared_without_overlap(group)
    if case.orderly:
        assert_in_order(group)
    record_property("deliveries again", len(group.repeated()))
