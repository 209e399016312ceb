"""Tests conf/2m-* unchanged: a name server, two masters and slaves, by RocketMQ's program names."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import pytest

from gantrymq.client import (
    Admin,
    ConsumeFrom,
    Message,
    Producer,
    PullConsumer,
    RouteError,
    SendStatus,
)
from gantrymq.testing.server import free_ports

PROGRAMS = Path(sys.executable).parent
CONFIGURATIONS = Path(__file__).resolve().parent.parent.parent / "examples" / "conf"
BROKERS = ("broker-a", "broker-b")
MASTERS = tuple((name, 0) for name in BROKERS)
SLAVES = tuple((name, 1) for name in BROKERS)
SECONDS = 60.0
LOCAL = {"bindAddress": "127.0.0.1", "metricsPort": 0}
LOCAL_BROKER = {**LOCAL, "brokerIP1": "127.0.0.1", "brokerIP2": "127.0.0.1"}

pytestmark = pytest.mark.timeout(180)


class Running:
    """One of RocketMQ's programs; a context manager, which `stop` ends early."""

    def __init__(self, folder: Path, program: str, *arguments: str) -> None:
        folder.mkdir()
        self._folder = folder
        self._log = folder / "log"
        self._program = program
        self._arguments = arguments
        self.start()

    def start(self) -> None:
        """Start the program again after it has ended."""
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                [PROGRAMS / self._program, *self._arguments],
                cwd=self._folder,
                env={"HOME": str(self._folder)},
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        """Kill the program."""
        self._process.kill()
        self._process.wait(SECONDS)

    def stop(self) -> None:
        """Stop the program with mqshutdown."""
        what = self._program.removeprefix("mq")
        command = [str(PROGRAMS / "mqshutdown"), what, str(self._process.pid)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert self._process.wait(SECONDS) == 0, self._log.read_text()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if self._process.poll() is None:
                self.stop()
        finally:
            self.kill()


def settings(**given: object) -> list[str]:
    return [part for key, value in given.items() for part in ("--set", f"{key}={value}")]


class Cluster:
    """A name server and the started brokers of a configuration; the context ends all of them."""

    def __init__(self, folder: Path, configuration: str) -> None:
        self._configuration = CONFIGURATIONS / configuration
        self._folder = folder
        self._stack = ExitStack()
        port = free_ports()[0]
        self.names = f"127.0.0.1:{port}"
        self.brokers: dict[str, Running] = {}
        self._run("namesrv", "mqnamesrv", *settings(listenPort=port, **LOCAL))

    def start(self, *names: str) -> None:
        """Start brokers by the names of their files."""
        for name in names:
            replicas, port, *_ = free_ports()
            at = settings(listenPort=port, haListenPort=replicas, **LOCAL_BROKER)
            file = str(self._configuration / f"{name}.properties")
            data = str(self._folder / name / "data")
            arguments = ["-n", self.names, "-c", file, "--data", data, *at]
            self.brokers[name] = self._run(name, "mqbroker", *arguments)

    def _run(self, name: str, program: str, *arguments: str) -> Running:
        return self._stack.enter_context(Running(self._folder / name, program, *arguments))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._stack.close()


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(SECONDS):
        while True:
            if await holds():
                return
            await asyncio.sleep(0.1)


async def known(admin: Admin, *members: tuple[str, int]) -> None:
    """Wait until the name server knows exactly these members."""

    async def they_are() -> bool:
        return await members_of(admin) == {*members}

    await until(they_are)


async def members_of(admin: Admin) -> set[tuple[str, int]]:
    try:
        brokers = (await admin.clusters.info()).brokers
    except RouteError:  # the name server does not listen yet
        return set()
    return {(name, number) for name, each in brokers.items() for number in each.addresses}


async def in_sync(admin: Admin) -> None:
    """Wait until each master has a slave with its whole log."""

    async def they_are() -> bool:
        masters = [await admin.clusters.master(name) for name in BROKERS]
        states = [await admin.brokers.replication(master) for master in masters]
        ends = [{slave.acknowledged for slave in state.slaves} for state in states]
        return all(state.log_end in end for state, end in zip(states, ends, strict=True))

    await until(they_are)


async def send(names: str, bodies: list[str]) -> Counter[str]:
    """Send messages; returns the number that each broker has."""
    async with Producer("shop", name_servers=names) as producer:
        sent = [await producer.send(Message("orders", body)) for body in bodies]
    assert {result.status for result in sent} == {SendStatus.SEND_OK}
    return Counter(result.queue.broker_name for result in sent)


async def test_topic_is_on_both_masters_and_one_continues_alone(tmp_path: Path) -> None:
    bodies = [str(number) for number in range(40)]
    with Cluster(tmp_path, "2m-noslave") as cluster:
        names = cluster.names
        cluster.start(*BROKERS)
        async with Admin(name_servers=names) as admin:
            await known(admin, *MASTERS)
            await admin.create_topic("orders", queues=4)
            queues = (await admin.topics.stats("orders")).queues
            assert Counter(queue.broker_name for queue in queues) == dict.fromkeys(BROKERS, 4)
            by_broker = await send(names, bodies)
            assert by_broker == dict.fromkeys(BROKERS, 20)

            cluster.brokers["broker-b"].stop()
            await known(admin, ("broker-a", 0))
            assert await send(names, ["alone"]) == {"broker-a": 1}
        async with consumer(names) as billing:
            found = await received(billing, by_broker["broker-a"] + 1)
    assert "alone" in found
    assert {*found} < {*bodies, "alone"}


@pytest.mark.parametrize("configuration", ["2m-2s-async", "2m-2s-sync"])
async def test_slave_serves_the_messages_of_its_dead_master(
    tmp_path: Path, configuration: str
) -> None:
    bodies = [str(number) for number in range(40)]
    with Cluster(tmp_path, configuration) as cluster:
        names = cluster.names
        cluster.start(*BROKERS)
        async with Admin(name_servers=names) as admin, consumer(names) as billing:
            await known(admin, *MASTERS)
            await admin.create_topic("orders", queues=4)
            cluster.start(*(f"{name}-s" for name in BROKERS))
            await known(admin, *MASTERS, *SLAVES)
            await in_sync(admin)
            assert await send(names, bodies) == dict.fromkeys(BROKERS, 20)
            await in_sync(admin)

            cluster.brokers["broker-a"].kill()
            await known(admin, ("broker-b", 0), *SLAVES)
            assert sorted(await received(billing, 40)) == sorted(bodies)
            assert await send(names, ["alone"]) == {"broker-b": 1}

            cluster.brokers["broker-a"].start()
            await known(admin, *MASTERS, *SLAVES)
            await in_sync(admin)
            later = [f"later {number}" for number in range(8)]
            assert await send(names, later) == dict.fromkeys(BROKERS, 4)
            assert sorted(await received(billing, 9)) == ["alone", *later]


def consumer(names: str) -> PullConsumer:
    made = PullConsumer("billing", name_servers=names, consume_from=ConsumeFrom.FIRST_OFFSET)
    made.subscribe("orders")
    return made


async def received(billing: PullConsumer, count: int) -> list[str]:
    """The next messages, at least so many."""
    found: list[str] = []
    async with asyncio.timeout(SECONDS):
        while len(found) < count:
            found += [message.body.decode() for message in await billing.poll()]
    return found
