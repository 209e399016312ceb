"""Tests Gantry's client with Java's brokers and with Gantry's, feature by feature.

test_clients plays the scenarios of all clients with it at Gantry's broker; here they are played at
Java's.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from gantrymq.interop.broker_kinds import BrokerKind
from gantrymq.interop.client_kinds import OWN
from gantrymq.interop.clients.drivers import MqAdmin
from gantrymq.interop.clients.plays import Plays
from gantrymq.interop.clients.scenarios.catalogue import SCENARIOS
from gantrymq.interop.clients.scenarios.scenario import Scenario
from gantrymq.interop.own.own_consuming import OFFSETS_VARIABLE
from gantrymq.interop.own.own_plays import OwnPlays
from gantrymq.interop.own.own_row import OwnRow
from gantrymq.interop.own.own_rows import OWN_ROWS
from gantrymq.interop.releases import NEWEST, OLDEST
from gantrymq.interop.servers import Broker, Server

pytestmark = [pytest.mark.interop, pytest.mark.timeout(400)]

PAIRS = [(kind, row) for kind in BrokerKind for row in OWN_ROWS if row.why_not(kind) is None]


def play_id(kind: BrokerKind, row: OwnRow) -> str:
    """The id of the test of a play."""
    return f"{kind.value}: {row.feature}"


def mqadmin_for(kind: BrokerKind, admins: Callable[[str], MqAdmin]) -> Callable[..., str]:
    """The newer tool, except for commands that brokers of 4.9 do not know."""
    newer = admins(NEWEST)
    if kind is not BrokerKind.JAVA_4:
        return newer.run
    older = admins(OLDEST)

    def run(server: Server, command: str, *options: str) -> str:
        return (older if command == "consumerProgress" else newer).run(server, command, *options)

    return run


@pytest.fixture(scope="module")
def own_plays(
    request: pytest.FixtureRequest,
    folder: Callable[[str], Path],
    brokers: Callable[[BrokerKind], Broker],
    admins: Callable[[str], MqAdmin],
) -> Iterator[Mapping[BrokerKind, OwnPlays]]:
    """All plays of this run; they start together."""
    wanted = {item.name for item in request.session.items}
    chosen: dict[BrokerKind, list[OwnRow]] = {}
    for kind, row in PAIRS:
        if f"{test_own_client.__name__}[{play_id(kind, row)}]" in wanted:
            chosen.setdefault(kind, []).append(row)
    for kind in chosen:
        brokers(kind)  # a JVM starts slowly while everything else starts as well
    with ExitStack() as running, pytest.MonkeyPatch.context() as patch:
        patch.setenv(OFFSETS_VARIABLE, str(folder("offsets")))
        yield {
            kind: running.enter_context(OwnPlays(brokers(kind), mqadmin_for(kind, admins), rows))
            for kind, rows in chosen.items()
        }


@pytest.mark.parametrize(("kind", "row"), PAIRS, ids=[play_id(*pair) for pair in PAIRS])
def test_own_client(
    own_plays: Mapping[BrokerKind, OwnPlays], kind: BrokerKind, row: OwnRow
) -> None:
    own_plays[kind].outcome(row)


@pytest.fixture(scope="module")
def plays_at_java(
    request: pytest.FixtureRequest,
    folder: Callable[[str], Path],
    brokers: Callable[[BrokerKind], Broker],
) -> Iterator[Plays]:
    """The plays of all clients in this run; they start together."""
    wanted = {item.name for item in request.session.items}
    name = test_scenario_of_all_clients_at_java.__name__
    chosen = [(OWN, each) for each in SCENARIOS if f"{name}[{each.feature}]" in wanted]
    with Plays(BrokerKind.JAVA, brokers(BrokerKind.JAVA), folder, chosen) as plays:
        yield plays


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[each.feature for each in SCENARIOS])
def test_scenario_of_all_clients_at_java(plays_at_java: Plays, scenario: Scenario) -> None:
    plays_at_java.outcome(OWN, scenario)
