"""conf/2m-noslave as it stands: a name server and two masters, by RocketMQ's program names."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import pytest

from gantrymq.client import Admin, ConsumeFrom, Message, Producer, PullConsumer, RouteError
from gantrymq.testing.server import free_ports

PROGRAMS = Path(sys.executable).parent
CONFIGURATION = Path(__file__).resolve().parent.parent.parent / "examples" / "conf" / "2m-noslave"
BROKERS = ("broker-a", "broker-b")
SECONDS = 60.0

pytestmark = pytest.mark.timeout(180)


class Running:
    """One of RocketMQ's programs. `with`; `stop` ends it before."""

    def __init__(self, folder: Path, program: str, *arguments: str) -> None:
        folder.mkdir()
        self._log = folder / "log"
        self._program = program
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [PROGRAMS / program, *arguments],
                cwd=folder,
                env={"HOME": str(folder)},
                stdout=log,
                stderr=log,
            )

    def stop(self) -> None:
        """By mqshutdown."""
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
            self._process.kill()
            self._process.wait()


def settings(**given: object) -> list[str]:
    return [part for key, value in given.items() for part in ("--set", f"{key}={value}")]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, dict[str, Running]]]:
    """Its name server's address, and its masters."""
    port = free_ports()[0]
    names = f"127.0.0.1:{port}"
    local = {"bindAddress": "127.0.0.1", "metricsPort": 0}
    with ExitStack() as stack:
        at = settings(listenPort=port, **local)
        stack.enter_context(Running(tmp_path / "namesrv", "mqnamesrv", *at))
        masters = {}
        for name in BROKERS:
            at = settings(listenPort=free_ports()[1], brokerIP1="127.0.0.1", **local)
            file = str(CONFIGURATION / f"{name}.properties")
            arguments = ["-n", names, "-c", file, "--data", str(tmp_path / name), *at]
            master = Running(tmp_path / name, "mqbroker", *arguments)
            masters[name] = stack.enter_context(master)
        yield names, masters


async def known(admin: Admin, *brokers: str) -> None:
    """Until the name server knows these and no others."""
    async with asyncio.timeout(SECONDS):
        while True:
            try:
                if {*(await admin.clusters.info()).brokers} == {*brokers}:
                    return
            except RouteError:
                pass  # it does not listen yet
            await asyncio.sleep(0.1)


async def send(names: str, bodies: list[str]) -> Counter[str]:
    """How many of them each broker has."""
    async with Producer("shop", name_servers=names) as producer:
        sent = [await producer.send(Message("orders", body)) for body in bodies]
    return Counter(result.queue.broker_name for result in sent)


async def test_a_topic_is_on_both_masters_and_one_goes_on_alone(
    cluster: tuple[str, dict[str, Running]],
) -> None:
    names, masters = cluster
    bodies = [str(number) for number in range(40)]
    async with Admin(name_servers=names) as admin:
        await known(admin, *BROKERS)
        await admin.create_topic("orders", queues=4)
        queues = (await admin.topics.stats("orders")).queues
        assert Counter(queue.broker_name for queue in queues) == dict.fromkeys(BROKERS, 4)
        by_broker = await send(names, bodies)
        assert by_broker == dict.fromkeys(BROKERS, 20)

        masters["broker-b"].stop()
        await known(admin, "broker-a")
        assert await send(names, ["alone"]) == {"broker-a": 1}
    found = await received(names, by_broker["broker-a"] + 1)
    assert "alone" in found
    assert {*found} < {*bodies, "alone"}


async def received(names: str, count: int) -> list[str]:
    found: list[str] = []
    async with (
        asyncio.timeout(SECONDS),
        PullConsumer(
            "billing", name_servers=names, consume_from=ConsumeFrom.FIRST_OFFSET
        ) as consumer,
    ):
        consumer.subscribe("orders")
        while len(found) < count:
            found += [message.body.decode() for message in await consumer.poll()]
    return found
