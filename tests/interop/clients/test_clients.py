"""Tests that unmodified clients find in the broker what they rely on, feature by feature.

INTEROP_BROKER=java plays the same with Java's broker, which must pass too: a scenario that fails
there is wrong about RocketMQ.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gantrymq.interop.broker_kinds import BrokerKind
from gantrymq.interop.client_kinds import KINDS, ClientKind
from gantrymq.interop.clients.client_table import PAGE, page
from gantrymq.interop.clients.clients import ClientError
from gantrymq.interop.clients.plays import Plays, known_failure
from gantrymq.interop.clients.scenarios.catalogue import SCENARIOS
from gantrymq.interop.clients.scenarios.scenario import Scenario
from gantrymq.interop.servers import Broker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(400)]

PAIRS = [
    (kind, scenario)
    for kind in KINDS
    for scenario in SCENARIOS
    if not scenario.needs & kind.lacks.keys()
]


def play_id(kind: ClientKind, scenario: Scenario) -> str:
    """The id of the test of a play."""
    return f"{kind.name}: {scenario.feature}"


@pytest.fixture(scope="session")
def plays(
    request: pytest.FixtureRequest,
    folder: Callable[[str], Path],
    brokers: Callable[[BrokerKind], Broker],
) -> Iterator[Plays]:
    """All plays of this run; they start together."""
    wanted = {item.name for item in request.session.items}
    chosen = [pair for pair in PAIRS if f"{test_scenario.__name__}[{play_id(*pair)}]" in wanted]
    kind = BrokerKind(os.environ.get("INTEROP_BROKER", BrokerKind.GANTRY.value))
    with Plays(kind, brokers(kind), folder, chosen) as all_plays:
        yield all_plays


@pytest.mark.parametrize(
    ("kind", "scenario"),
    PAIRS,
    ids=[play_id(*pair) for pair in PAIRS],
)
def test_scenario(plays: Plays, kind: ClientKind, scenario: Scenario) -> None:
    if known_failure(plays.broker_kind, kind, scenario) is None:
        plays.outcome(kind, scenario)
    else:
        with pytest.raises((AssertionError, TimeoutError, ClientError)):
            plays.outcome(kind, scenario)


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == page(), f"run: python -m {page.__module__} (with PYTHONPATH=tests)"
