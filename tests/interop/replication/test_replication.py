"""Tests that master and slave, one of them Java's, have equal logs after any restart.

Each pair has its own name server of Gantry, from which the slave learns its master's address.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pytest

from gantrymq.interop.child import wait_until
from gantrymq.interop.releases import NEWEST, OLDEST
from gantrymq.interop.servers import (
    Broker,
    JavaBroker,
    NameServer,
    gantry_broker,
    gantry_name_server,
)
from gantrymq.interop.wire import Request, connect, parse_fastjson

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

MESSAGES = int(os.environ.get("REPLICATED_MESSAGES", "5000"))
WINDOW = 64
TOPIC = "copied"
FILE_BYTES = 1 << 20
CATCH_UP_SECONDS = 90.0
SEND_OK, SLAVE_NOT_AVAILABLE = 0, 11
GANTRY, JAVA_4, JAVA_5 = "gantry", OLDEST, NEWEST
NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Pair:
    """A master and its slave, both running."""

    name_server: NameServer
    master: Broker
    slave: Broker


def broker(kind: str, folder: Path, name_server: NameServer, settings: dict[str, str]) -> Broker:
    own = {"brokerName": "pair", "mappedFileSizeCommitLog": str(FILE_BYTES), **settings}
    if kind == GANTRY:
        return gantry_broker(folder, [name_server], own)
    return JavaBroker(kind, folder, [name_server], own)


@contextmanager
def pair(
    folder: Callable[[str], Path],
    master: str,
    slave: str,
    role: str = "ASYNC_MASTER",
    *,
    masters: Mapping[str, str] = NOTHING,
    slaves: Mapping[str, str] = NOTHING,
) -> Iterator[Pair]:
    """Run a master and a slave; the last two parameters are settings of one side only."""
    with gantry_name_server(folder("namesrv")) as name_server:
        first = broker(master, folder("master"), name_server, {"brokerRole": role, **masters})
        as_slave = {"brokerRole": "SLAVE", "brokerId": "1", **slaves}
        second = broker(slave, folder("slave"), name_server, as_slave)
        with first:
            first.create_topic(TOPIC, 4)
            with second:
                yield Pair(name_server, first, second)


def send(master: Broker, count: int) -> set[int]:
    """Send so many messages of a kilobyte; returns the codes of all responses."""
    codes: set[int] = set()
    with connect(master.address) as connection:
        for sent in range(count + WINDOW):
            if sent < count:
                fields = zip("abcdefghij", _header(sent), strict=True)
                connection.send(Request(310, dict(fields), body=b"%08d" % sent * 128))
            if sent >= WINDOW:
                codes.add(connection.receive().code)
    return codes


def _header(number: int) -> tuple[str, ...]:
    properties = f"KEYS\1key-{number}\2TAGS\1even\2"
    queue = str(number % 4)
    return ("producers", TOPIC, "TBW102", "4", queue, "0", "1700000000000", "0", properties, "0")


def end_of_log(of: Broker) -> int | None:
    """The end of the log; None if 4.9 does not report it, in its first second."""
    answer = of.ask(Request(28))
    if answer.code != 0:
        return None
    table = parse_fastjson(answer.body)
    assert isinstance(table, dict)
    values = table["table"]
    assert isinstance(values, dict)
    return int(values["commitLogMaxOffset"])


def wait_for_slave(both: Pair) -> None:
    def has_all() -> bool:
        end = end_of_log(both.slave)
        return end is not None and end == end_of_log(both.master)

    wait_until(has_all, "the slave has all of its master's log", CATCH_UP_SECONDS)


def log_of(of: Broker, start: int, end: int) -> bytes:
    """The bytes of the log between two positions, read from its files."""
    pieces = []
    folder = of.folder / "store" / "commitlog"
    for file in sorted(folder.iterdir()):
        first = int(file.name)
        if first + FILE_BYTES > start and first < end:
            pieces.append(file.read_bytes()[max(0, start - first) : end - first])
    return b"".join(pieces)


def assert_equal(both: Pair) -> None:
    """Assert that both logs are equal, from the start of the slave's log."""
    wait_for_slave(both)
    end = end_of_log(both.master)
    assert end is not None
    files = sorted((both.slave.folder / "store" / "commitlog").iterdir())
    start = int(files[0].name)
    assert end > start
    theirs, copied = log_of(both.master, start, end), log_of(both.slave, start, end)
    assert len(theirs) == end - start
    assert copied == theirs


@pytest.fixture(
    params=[
        (GANTRY, JAVA_5),
        (JAVA_5, GANTRY),
        (GANTRY, GANTRY),
        (GANTRY, JAVA_4),
        (JAVA_4, GANTRY),
    ]
)
def both(request: pytest.FixtureRequest, folder: Callable[[str], Path]) -> Iterator[Pair]:
    with pair(folder, *request.param) as started:
        yield started


def test_logs_are_equal_after_a_restart_of_either_side(both: Pair) -> None:
    assert send(both.master, MESSAGES) == {SEND_OK}
    assert_equal(both)
    for restarted in (both.slave, both.master):
        restarted.kill()
        if restarted is both.slave:
            assert send(both.master, MESSAGES // 5) == {SEND_OK}
        restarted.start()
        assert send(both.master, MESSAGES // 5) == {SEND_OK}
        assert_equal(both)


@pytest.mark.parametrize("slave", [JAVA_5, JAVA_4, GANTRY])
def test_sync_master_acknowledges_what_its_slave_has(
    folder: Callable[[str], Path], slave: str
) -> None:
    with pair(folder, GANTRY, slave, "SYNC_MASTER") as both:
        wait_until(lambda: send(both.master, 1) == {SEND_OK}, "a slave is there", CATCH_UP_SECONDS)
        assert send(both.master, 500) == {SEND_OK}
        assert_equal(both)
        both.slave.kill()
        wait_until(
            lambda: send(both.master, 1) == {SLAVE_NOT_AVAILABLE}, "the slave is missed", 30.0
        )
        both.slave.start()
        wait_for_slave(both)
        assert send(both.master, 100) == {SEND_OK}


def secret(folder: Callable[[str], Path]) -> dict[str, str]:
    """The setting of a broker that proves its secret."""
    path = folder("secret") / "secret"
    path.write_text("a secret that Java does not know")
    return {"groupSecretFile": str(path)}


def wait_until_told(of: Broker, text: str) -> None:
    log = of.folder / "out.log"
    wait_until(lambda: text in log.read_text(errors="replace"), f"its log says: {text}", 60.0)


@pytest.mark.parametrize("slave", [JAVA_5, JAVA_4])
def test_slave_without_a_proof_is_refused(folder: Callable[[str], Path], slave: str) -> None:
    with pair(folder, GANTRY, slave, "SYNC_MASTER", masters=secret(folder)) as both:
        assert send(both.master, 10) == {SLAVE_NOT_AVAILABLE}
        wait_until_told(both.master, "haAllowUnauthenticatedSlaves=true at this master")
        assert send(both.master, 10) == {SLAVE_NOT_AVAILABLE}
        assert end_of_log(both.slave) == 0


@pytest.mark.parametrize("slave", [JAVA_5, JAVA_4])
def test_slave_without_a_proof_follows_if_allowed(
    folder: Callable[[str], Path], slave: str
) -> None:
    allowed = {**secret(folder), "haAllowUnauthenticatedSlaves": "true"}
    with pair(folder, GANTRY, slave, "SYNC_MASTER", masters=allowed) as both:
        wait_until(lambda: send(both.master, 1) == {SEND_OK}, "a slave is there", CATCH_UP_SECONDS)
        assert_equal(both)


@pytest.mark.parametrize("master", [JAVA_5, JAVA_4])
def test_slave_with_a_secret_does_not_follow_a_master_without_a_proof(
    folder: Callable[[str], Path], master: str
) -> None:
    with pair(folder, master, GANTRY, slaves=secret(folder)) as both:
        assert send(both.master, 10) == {SEND_OK}
        wait_until_told(both.slave, "A Java master has no proof")
        assert end_of_log(both.slave) == 0
        assert send(both.master, 10) == {SEND_OK}
