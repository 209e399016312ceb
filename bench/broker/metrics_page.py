"""Measures a broker's page of metrics with 10 000 topics and 2 000 groups.

    PYTHONPATH=tests python -m bench.broker.metrics_page [--lagging PERCENT]

The broker runs in this process, with its default settings, and is asked over HTTP.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import itertools
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from gantrymq.broker.configuration import load
from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.figures.messages import NORMAL
from gantrymq.broker.core.state import State
from gantrymq.broker.server import BrokerHost
from gantrymq.interop.ports import free_port
from gantrymq.wire import hosts
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.message.record import Record

TOPICS: Final = 10_000
QUEUES: Final = 4
GROUPS: Final = 2_000
TOPICS_A_GROUP: Final = 5
ROUNDS: Final = 5
MESSAGES_A_TURN: Final = 500


@final
class Holds:
    """Measures how long callbacks hold the event loop, in CPU time of its thread, so that other
    programs of the machine do not count."""

    def __init__(self) -> None:
        self.longest = 0.0
        self.total = 0.0

    def watch(self) -> None:
        """Time every callback of this process's loops from now on."""
        run = asyncio.Handle._run  # noqa: SLF001 - the one place through which all callbacks go
        main = threading.get_ident()

        def timed(handle: asyncio.Handle) -> None:
            if threading.get_ident() != main:
                run(handle)
                return
            began = time.thread_time()
            run(handle)
            took = time.thread_time() - began
            self.total += took
            self.longest = max(self.longest, took)

        asyncio.Handle._run = timed  # type: ignore[assignment,method-assign]  # noqa: SLF001 - it is only timed

    def take(self) -> tuple[float, float]:
        """The longest callback and the sum of all callbacks since the last call, in seconds."""
        taken = self.longest, self.total
        self.longest = self.total = 0.0
        return taken


@final
@dataclass(frozen=True, slots=True)
class Round:
    """The measurements of one page."""

    seconds: float
    longest_hold: float
    processor_seconds: float
    megabytes: float
    series: int

    def __str__(self) -> str:
        return (
            f"page in {self.seconds:.3f} s, {self.megabytes:.1f} MB, {self.series} lines; "
            f"the loop: {self.processor_seconds:.3f} s of work, "
            f"{self.longest_hold * 1000:.1f} ms at a time"
        )


async def fill(host: BrokerHost, lagging_percent: int) -> None:
    """Create topics with a message in each queue, and groups of which some are behind."""
    state = host.state
    for number in range(TOPICS):
        name = f"topic-{number:05d}"
        config = TopicConfig(name, read_queue_nums=QUEUES, write_queue_nums=QUEUES)
        state.topics.put(config, state.wall_ms)
    messages = itertools.product(range(TOPICS), range(QUEUES))
    for count, (topic, queue_id) in enumerate(messages):
        put(state, f"topic-{topic:05d}", queue_id)
        if count % MESSAGES_A_TURN == 0:
            host.core.turn(time.monotonic(), time.time_ns() // 1_000_000)
            await asyncio.sleep(0)
    host.core.turn(time.monotonic(), time.time_ns() // 1_000_000)
    subscribe(state, lagging_percent)


def subscribe(state: State, lagging_percent: int) -> None:
    """Create groups with offsets; `lagging_percent` of them have consumed nothing."""
    for number in range(GROUPS):
        group = f"group-{number:04d}"
        state.groups.put(GroupConfig(group_name=group), state.wall_ms)
        for place in range(TOPICS_A_GROUP):
            topic = f"topic-{(number * TOPICS_A_GROUP + place) % TOPICS:05d}"
            state.stats.got(group, topic, QUEUES, 400)
            for queue in range(QUEUES):
                offset = 0 if number % 100 < lagging_percent else 1
                state.offsets.commit(group, topic, queue, offset, state.now + 3600)


def put(state: State, topic: str, queue_id: int) -> None:
    host = hosts.parse("127.0.0.1:1")
    record = Record(topic.encode(), b"x" * 100, queue_id=queue_id, born_host=host, store_host=host)
    state.task_runner.start(tasks.put(record, waits=False), lambda _: None, fail)
    state.figures.count_sent(topic, NORMAL, 1, record.size)


def fail(error: Exception) -> None:
    raise error


# A program that requests each URL of its standard input, and prints the seconds that the answer
# took, its bytes and its lines. It is a process of its own, so it shares no interpreter lock with
# the broker. It is started once, because starting a process holds the broker's loop.
_ASKER: Final = """
import sys, time, urllib.request
for url in sys.stdin:
    began = time.perf_counter()
    text = urllib.request.urlopen(url.strip()).read()
    print(time.perf_counter() - began, len(text), text.count(b"\\n"), flush=True)
"""


async def page(asker: asyncio.subprocess.Process, port: int, holds: Holds) -> Round:
    assert asker.stdin is not None
    assert asker.stdout is not None
    holds.take()
    asker.stdin.write(f"http://127.0.0.1:{port}/metrics\n".encode())
    seconds, size, lines = (await asker.stdout.readline()).split()
    longest, total = holds.take()
    return Round(float(seconds), longest, total, int(size) / 1e6, int(lines))


async def measure(lagging_percent: int) -> None:
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        flags = {
            "listenPort": "0",
            "metricsPort": str(port),
            "bindAddress": "127.0.0.1",
            "brokerIP1": "127.0.0.1",
        }
        host = BrokerHost(load(None, {}, flags, Path(folder)), is_alone=True)
        await host.start()
        try:
            await measure_host(host, port, lagging_percent)
        finally:
            await host.stop()


async def measure_host(host: BrokerHost, port: int, lagging_percent: int) -> None:
    holds = Holds()
    holds.watch()
    await fill(host, lagging_percent)
    gc.freeze()  # as after a start that finds all of it
    # until work that follows the writes, such as flushes of queues, has ended
    await asyncio.sleep(10.0)
    holds.take()
    await asyncio.sleep(5.0)
    print(f"{TOPICS} topics, {GROUPS} groups, {lagging_percent} % of them behind")
    print(f"at rest the loop is held for {holds.take()[0] * 1000:.1f} ms at most")
    pipe = asyncio.subprocess.PIPE
    asker = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _ASKER, stdin=pipe, stdout=pipe
    )
    for _ in range(ROUNDS):
        await asyncio.sleep(1.0)
        print(await page(asker, port, holds))
    asker.kill()
    await asker.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lagging", type=int, default=10, help="percent of the groups")
    asyncio.run(measure(parser.parse_args().lagging))


if __name__ == "__main__":
    main()
