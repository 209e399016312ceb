"""Runs the groups of brokers under measurement: a master and its followers on the server core.

    Java              SYNC_MASTER or ASYNC_MASTER, and a slave
    Gantry            the same, by the same settings
    Gantry elects, n  n members that elect their master by a Lease; its API is on the load core

Settings are the defaults, except that Java must wait for a slave: its SYNC_MASTER counts itself as
one of inSyncReplicas, of which the default is one, and so answers sends that no slave has.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from bench.broker.broker_sends import QUEUES, TOPIC
from bench.broker.broker_servers import BROKER_NAME, Broker, broker_port
from bench.machine import LOAD_CORE, pinned
from bench.namesrv.servers import GANTRY, JAVA
from gantrymq.interop.ports import free_port
from gantrymq.interop.servers import NameServer, gantry_name_server
from gantrymq.interop.wire import Answer, Request, connect, parse_fastjson

ELECTED: Final = "Gantry elects, {}"
ELECTED_SIZES: Final = (2, 3)
COLUMNS: Final = (JAVA, GANTRY, *map(ELECTED.format, ELECTED_SIZES))
SOURCES: Final = Path(__file__).resolve().parent.parent.parent / "tests"
GET_BROKER_HA_STATUS: Final = 907
SYSTEM_BUSY: Final = 2
FOLLOW_SECONDS = 90.0
STATUS_SECONDS = 30.0  # a disk under heavy writes may delay a broker
POLL_SECONDS = 0.005


class Group:
    """Running brokers of one group, one of them master."""

    def __init__(self, name: str, brokers: Sequence[Broker], *, elects: bool = False) -> None:
        self.name = name
        self._elects = elects
        self.brokers = brokers
        self.master = brokers[0]
        for broker in brokers:
            broker.start()

    def process_ids(self) -> Sequence[int]:
        """The processes that are stopped while another group is measured: none of an elected group.

        Members that are stopped would lose their Lease; when idle, all of them take 4 % of the
        core.
        """
        if self._elects:
            return ()
        return [process_id for broker in self.brokers for process_id in broker.process_ids()]

    @property
    def port(self) -> int:
        """The master's port."""
        return self.master.port

    def stored(self) -> int:
        """The number of messages of the topic."""
        return self.master.stored(TOPIC, QUEUES)

    def end_round(self) -> None:
        """Nothing to do: a group keeps its messages."""

    @property
    def followers(self) -> Sequence[Broker]:
        return [broker for broker in self.brokers if broker is not self.master]

    def settle(self) -> None:
        """Wait until one member is master and all followers have its log."""
        _wait(self._is_settled, f"all of {self.name} follow a master")

    def _is_settled(self) -> bool:
        for broker in self.brokers:
            if _ha_status(broker).get("master"):
                self.master = broker
                return self.has_all()
        return False

    def has_all(self) -> bool:
        """Whether all followers have acknowledged the whole log of the master."""
        return self.behind() == 0

    def behind(self) -> int | None:
        """The bytes that the slowest follower lacks; None if a follower is not connected."""
        status = _ha_status(self.master)
        links = status["haConnectionInfo"]
        assert isinstance(links, list)
        if len(links) < len(self.brokers) - 1:
            return None
        end = _number(status["masterCommitLogMaxOffset"])
        return end - min(_number(link["slaveAckOffset"]) for link in links)

    def log_end(self) -> int:
        """The end of the master's log."""
        return _number(_ha_status(self.master)["masterCommitLogMaxOffset"])

    def wait_for_followers(self) -> float:
        """Wait until all followers have the whole log; returns the seconds it took."""
        began = time.monotonic()
        _wait(self.has_all, f"followers of {self.name} have everything")
        return time.monotonic() - began

    def cpu_seconds(self) -> tuple[float, float]:
        """CPU seconds of the master, and of the followers."""
        others = sum(broker.cpu_seconds() for broker in self.followers)
        return self.master.cpu_seconds(), others


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value


def _ha_status(broker: Broker) -> Mapping[str, object]:
    """The broker's HA status; retried, because Java's refuses requests that waited, even for a
    core."""
    answer = _asked(broker)
    end = time.monotonic() + STATUS_SECONDS
    while answer.code == SYSTEM_BUSY and time.monotonic() < end:
        answer = _asked(broker)
    if answer.code != 0:
        raise RuntimeError(f"{broker.name} tells nothing of its replication: {answer.remark}")
    status = parse_fastjson(answer.body)
    assert isinstance(status, dict)
    return status


def _asked(broker: Broker) -> Answer:
    with connect(broker.address, timeout=STATUS_SECONDS) as connection:
        return connection.ask(Request(GET_BROKER_HA_STATUS))


def _wait(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + FOLLOW_SECONDS
    try:
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(f"not within {FOLLOW_SECONDS:.0f} s")
            time.sleep(POLL_SECONDS)
    except OSError as error:
        error.add_note(f"awaited: {what}")
        raise


@contextmanager
def groups(folder: Path, role: str) -> Iterator[dict[str, Group]]:
    """One group of each kind, empty and running; killed at the end."""
    with ExitStack() as stack:
        made = {}
        for name in COLUMNS:
            home = folder / name.replace(", ", "-").replace(" ", "-")
            (home / "namesrv").mkdir(parents=True)
            name_server = stack.enter_context(gantry_name_server(home / "namesrv"))
            elects = name not in (JAVA, GANTRY)
            if not elects:
                brokers = pair(name, home, name_server, role)
            else:
                size = ELECTED_SIZES[COLUMNS.index(name) - 2]
                brokers = stack.enter_context(electing(size, home, name_server, role))
            for broker in brokers:
                stack.callback(broker.kill)
            made[name] = Group(name, brokers, elects=elects)
        for group in made.values():
            group.settle()
        yield made


def pair(name: str, folder: Path, name_server: NameServer, role: str) -> Sequence[Broker]:
    """A master and a slave, whose roles are in their configuration files."""
    settings = {"brokerIP2": "127.0.0.1"}
    if name == JAVA:
        settings["inSyncReplicas"] = "2"
    master = {**settings, "brokerRole": role, "brokerId": "0"}
    slave = {**settings, "brokerRole": "SLAVE", "brokerId": "1"}
    return (
        Broker(name, folder / "master", name_server, master),
        Broker(name, folder / "slave", name_server, slave),
    )


@contextmanager
def electing(
    size: int, folder: Path, name_server: NameServer, role: str
) -> Iterator[Sequence[Broker]]:
    """The members of a group that elects its master."""
    secret = folder / "secret"
    secret.write_text("a secret of sixteen bytes or more\n")
    ports = {number: broker_port() for number in range(1, size + 1)}
    with lease_api(folder) as url:
        settings = {
            "brokerRole": role,
            "groupMembers": ",".join(f"{n}=127.0.0.1:{port + 1}" for n, port in ports.items()),
            "groupSecretFile": str(secret),
            "leaseUrl": url,
            "leaseNamespace": "bench",
            "leaseName": BROKER_NAME,
        }
        yield [
            Broker(
                GANTRY,
                folder / f"member-{number}",
                name_server,
                {**settings, "memberNumber": str(number)},
                port,
            )
            for number, port in ports.items()
        ]


@contextmanager
def lease_api(folder: Path) -> Iterator[str]:
    """The API server for Leases that the tests use."""
    port = free_port()
    command = [sys.executable, "-m", "gantrymq.fakes.groups.lease_api", "--port", str(port)]
    with (folder / "lease.log").open("wb") as log, pinned(LOAD_CORE):
        process = subprocess.Popen(
            command, stdout=log, stderr=log, env={"PYTHONPATH": str(SOURCES)}
        )
    with process:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
