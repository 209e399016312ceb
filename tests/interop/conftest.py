"""Fixtures of the interop tests: which name server is judged, and what runs beside it.

INTEROP=0 leaves these tests out; INTEROP_NAMESRV=java runs them with Java's name server in the
place of ours, which must be green too: a test that fails there is wrong about Java.
"""

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from gantrymq.interop import child
from gantrymq.interop.broker_kinds import BrokerKind, running
from gantrymq.interop.clients.drivers import JavaClient, MqAdmin
from gantrymq.interop.releases import NEWEST, OLDEST, OLDEST_CLIENT
from gantrymq.interop.servers import Broker, NameServerKind
from gantrymq.interop.sides import Sides, side_by_side
from gantrymq.interop.toolchain import missing_tools
from gantrymq.left_out import leave_out

HERE = Path(__file__).parent

# Failures in these modules show values, as in test modules.
pytest.register_assert_rewrite(
    "gantrymq.interop.clients.stage",
    "gantrymq.interop.clients.scenarios.sending",
    "gantrymq.interop.clients.scenarios.later",
    "gantrymq.interop.clients.scenarios.consuming",
    "gantrymq.interop.clients.scenarios.finding",
    "gantrymq.interop.clients.mixed_group",
    "gantrymq.interop.clients.crossings",
    *(
        f"gantrymq.interop.own.own_{part}"
        for part in ("stage", "sending", "later", "consuming", "reading", "popping", "finding")
    ),
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("INTEROP") == "0":
        ours = [item for item in items if HERE in item.path.parents]
        leave_out(config, items, ours, "INTEROP=0: {} tests against real RocketMQ left out")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and HERE in item.path.parents:
        for process in child.living:
            report.sections.append((f"logs of {process.name}", process.report()))
    return report


@pytest.fixture(scope="session")
def namesrv_kind() -> NameServerKind:
    """The program that is the name server under test."""
    return NameServerKind(os.environ.get("INTEROP_NAMESRV", NameServerKind.GANTRY.value))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Creates a folder for a process of this name; fails the test if Java is missing."""
    if (missing := missing_tools()) is not None:
        pytest.fail(missing, pytrace=False)
    return tmp_path_factory.mktemp


@pytest.fixture(scope="session")
def sides(namesrv_kind: NameServerKind, folder: Callable[[str], Path]) -> Iterator[Sides]:
    """Java's name server and the one under test, with one broker at both."""
    with side_by_side(namesrv_kind, folder) as pair:
        yield pair


@pytest.fixture(scope="session")
def brokers(folder: Callable[[str], Path]) -> Iterator[Callable[[BrokerKind], Broker]]:
    """Brokers for scenarios by their kind, each started at first use."""
    with ExitStack() as started:

        @cache
        def start(kind: BrokerKind) -> Broker:
            return started.enter_context(running(kind, folder))

        yield start


@pytest.fixture(scope="session")
def clients(folder: Callable[[str], Path]) -> Iterator[Callable[[str], JavaClient]]:
    """Client JVMs by release, each started at first use."""
    with ExitStack() as running:

        @cache
        def start(version: str) -> JavaClient:
            return running.enter_context(JavaClient(version, folder(f"client-{version}")))

        yield start


@pytest.fixture(scope="session")
def admins(folder: Callable[[str], Path]) -> Iterator[Callable[[str], MqAdmin]]:
    """mqadmin JVMs by release, each started at first use."""
    with ExitStack() as running:

        @cache
        def start(version: str) -> MqAdmin:
            return running.enter_context(MqAdmin(version, folder(f"mqadmin-{version}")))

        yield start


@pytest.fixture(params=[NEWEST, OLDEST_CLIENT])
def client(request: pytest.FixtureRequest, clients: Callable[[str], JavaClient]) -> JavaClient:
    """A real client of each release."""
    return clients(request.param)


@pytest.fixture(params=[NEWEST, OLDEST])
def admin(request: pytest.FixtureRequest, admins: Callable[[str], MqAdmin]) -> MqAdmin:
    """A real mqadmin of each release."""
    return admins(request.param)
