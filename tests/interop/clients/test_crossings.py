"""Tests that Java's client and Gantry's continue what the other one left, at both brokers."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from gantrymq.interop.broker_kinds import BrokerKind
from gantrymq.interop.client_kinds import JAVA, OWN
from gantrymq.interop.clients.clients import Client
from gantrymq.interop.clients.crossings import BOTH_WAYS, ONE_WAY, Crossing
from gantrymq.interop.clients.stage import Stage
from gantrymq.interop.servers import Broker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

AT_ONCE = 8  # most of a scenario is waiting
WAYS = [
    *((crossing, is_reverse) for crossing in BOTH_WAYS for is_reverse in (False, True)),
    *((crossing, False) for crossing in ONE_WAY),
]
PLAYS = [
    pytest.param(
        kind,
        crossing,
        is_reverse,
        id=f"{kind.value}: {crossing.__name__}, {'ours' if is_reverse else 'Java'} first",
    )
    for kind in (BrokerKind.GANTRY, BrokerKind.JAVA)
    for crossing, is_reverse in WAYS
]


@pytest.fixture(scope="module")
def play(
    folder: Callable[[str], Path], brokers: Callable[[BrokerKind], Broker]
) -> Iterator[Callable[[BrokerKind, Crossing, bool], None]]:
    """The plays at one broker start together, when the first one is requested."""
    outcomes: dict[tuple[BrokerKind, Crossing, bool], Future[None]] = {}
    with ExitStack() as running:
        clients = [
            running.enter_context(Client(kind.name, folder("client"), kind.command))
            for kind in (JAVA, OWN)
        ]
        hands = running.enter_context(ThreadPoolExecutor(AT_ONCE))

        def cross(name: str, broker: Broker, crossing: Crossing, is_reverse: bool) -> None:
            with (
                Stage(clients[0], broker, f"{name}-java") as java,
                Stage(clients[1], broker, f"{name}-own") as own,
            ):
                crossing(own, java) if is_reverse else crossing(java, own)

        def outcome(kind: BrokerKind, crossing: Crossing, is_reverse: bool) -> None:
            if (kind, crossing, is_reverse) not in outcomes:
                for number, way in enumerate(WAYS):
                    name = f"cross{number}"
                    outcomes[kind, *way] = hands.submit(cross, name, brokers(kind), *way)
            outcomes[kind, crossing, is_reverse].result()

        yield outcome


@pytest.mark.parametrize(("kind", "crossing", "is_reverse"), PLAYS)
def test_crossing(
    play: Callable[[BrokerKind, Crossing, bool], None],
    kind: BrokerKind,
    crossing: Crossing,
    is_reverse: bool,
) -> None:
    play(kind, crossing, is_reverse)
