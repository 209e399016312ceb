"""Measures Gantry's client and Java's against a broker of Gantry: sends and consumption.

Both clients are on the load core, in turns, and the broker has the other core. The rate by the
clock is often the broker's; the CPU time per message, of all threads, is the client's own. In these
rows "Gantry" and "Java" are the clients.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, TypeAlias

from bench.broker.broker_paces import Pace
from bench.broker.broker_reads import fill
from bench.broker.broker_sends import CPU_SUFFIX, QUEUES, REFUSED_SUFFIX, THREADS, TOPIC, serving
from bench.broker.broker_servers import KEEPS_NOTHING, Broker
from bench.broker.load_clients import LoadClient, LoadClients
from bench.broker.message_requests import PULL
from bench.codec.codec import ROOT
from bench.load import LoadProgram
from bench.machine import LOAD_CORE, pinned
from bench.namesrv.routes import Samples
from bench.namesrv.servers import GANTRY, JAVA
from bench.report import Row
from bench.store.store_workers import cpu_clock, scratch
from bench.turns import in_turns

JAVA_BATCH: Final = 32
WINDOW: Final = 4096
SIZES: Final = {"128 B": 128, "1 KB": 1024}
HELD: Final = 100_000
OWN_WARM_UP_SECONDS: Final = 0.5  # there is no compiler that works while it runs

AWAITED: Final = f"{THREADS} await each send"
GATHERED: Final = f"send_async and flush, beside batches of {JAVA_BATCH} by {THREADS} threads"
LISTS: Final = (
    f"send_async_many of {JAVA_BATCH} and flush,"
    f" beside batches of {JAVA_BATCH} by {THREADS} threads"
)
EACH_AWAITED: Final = (
    f"send_async, each awaited, beside batches of {JAVA_BATCH} by {THREADS} threads"
)
AUTO_BATCH: Final = "send_async, each awaited, beside autoBatch with callbacks"
PUSH: Final = "a backlog by push, {} a call"
POLLS: Final = "a backlog by polls"
WAITING: Final = "memory of 10 000 messages of 128 B that wait to be sent"
AHEAD: Final = "memory of 10 000 messages of 128 B that wait for a listener"

Order: TypeAlias = Callable[[float], tuple[object, ...]]
"""The words of an order to a client, for a round of so many seconds."""


def measure_clients(pace: Pace) -> list[Row]:
    """Measure a backlog, then each kind of send, then the memory of waiting messages."""
    with scratch() as folder, serving(folder, KEEPS_NOTHING) as brokers:
        brokers.pop(JAVA).kill()
        broker = brokers[GANTRY]
        with LoadClients(folder).of(brokers, "JSON", TOPIC) as java, _python_client(broker) as ours:
            turns = _Turns(broker, {GANTRY: ours, JAVA: java[GANTRY]}, pace)
            # First, while the topic is empty.
            backlog = fill(broker, LoadProgram(folder), folder, pace.backlog)
            for size in (PULL, 1):
                turns.consume(PUSH.format(size), "push", backlog, size)
            turns.consume(POLLS, "pull", backlog)
            turns.hold(AHEAD, "ahead", min(HELD, backlog // 2))
            turns.hold(WAITING, "waiting", HELD)
            for words, size in SIZES.items():
                turns.send_all(words, size)
    return turns.samples.rows()


@contextmanager
def _python_client(broker: Broker) -> Iterator[LoadClient]:
    command = [
        sys.executable,
        "-m",
        "bench.client.client_worker",
        broker.name_server.address,
        TOPIC,
    ]
    with pinned(LOAD_CORE):
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
    with process:
        try:
            yield LoadClient(process)
        finally:
            process.kill()


class _Turns:
    """The same work for both clients, one after the other; the first round does not count."""

    def __init__(self, broker: Broker, clients: Mapping[str, LoadClient], pace: Pace) -> None:
        self.samples = Samples()
        self._broker = broker
        self._clients = clients
        self._pace = pace

    # ------------------------------------------------------------------ sends

    def send_all(self, words: str, size: int) -> None:
        """Measure each kind of send, with bodies of this size."""

        def batches(seconds: float) -> tuple[object, ...]:
            return ("batch", THREADS, seconds, size, JAVA_BATCH)

        def callbacks(seconds: float) -> tuple[object, ...]:
            return ("gather", WINDOW, seconds, size)

        def threads(seconds: float) -> tuple[object, ...]:
            return ("sync", THREADS, seconds, size)

        def tasks(seconds: float) -> tuple[object, ...]:
            return ("await", THREADS, seconds, size)

        def soon(seconds: float) -> tuple[object, ...]:
            return ("soon", seconds, size)

        def flush(seconds: float) -> tuple[object, ...]:
            return ("flush", seconds, size)

        def lists(seconds: float) -> tuple[object, ...]:
            return ("lists", seconds, size, JAVA_BATCH)

        self._send(f"{AWAITED}, {words}", tasks, threads)
        self._send(f"{LISTS}, {words}", lists, batches)
        self._send(f"{GATHERED}, {words}", flush, batches)
        self._send(f"{EACH_AWAITED}, {words}", soon, batches)
        self._send(f"{AUTO_BATCH}, {words}", soon, callbacks)

    def _send(self, what: str, ours: Order, theirs: Order) -> None:
        orders = {GANTRY: ours, JAVA: theirs}
        warm_up = {GANTRY: OWN_WARM_UP_SECONDS, JAVA: self._pace.warm_up_seconds}
        for number, name in in_turns(self._pace.rounds + 1, self._clients):
            client = self._clients[name]
            seconds = self._pace.round_seconds if number else warm_up[name]
            self._broker.drop_old_files()
            stored, before = self._broker.stored(TOPIC, QUEUES), _cpu_seconds(client)
            sent = client.sent(*orders[name](seconds))
            cpu_seconds = _cpu_seconds(client) - before
            stored = self._broker.stored(TOPIC, QUEUES) - stored
            if number == 0:
                continue
            self._add(what, name, stored, sent.seconds, cpu_seconds)
            if refused := max(0, sent.messages + sent.refused - stored):
                self.samples.add(what + REFUSED_SUFFIX, "messages", name, refused)

    # ------------------------------------------------------------------ reads

    def consume(self, what: str, how: str, backlog: int, *more: object) -> None:
        """Measure the consumption of the whole backlog, with a new group each time."""
        for number, name in in_turns(self._pace.rounds + 1, self._clients):
            client = self._clients[name]
            group = "-".join(map(str, (name, how, *more, number)))
            before = _cpu_seconds(client)
            took = client.consumed(how, group, backlog, *more)
            if number:
                cpu_seconds = _cpu_seconds(client) - before
                self._add(what, name, took.messages, took.seconds, cpu_seconds)

    # ------------------------------------------------------------------ memory

    def hold(self, what: str, how: str, count: int) -> None:
        """Measure the memory of waiting messages, only for Gantry: Java's depends on its heap and
        collector."""
        messages, grown_bytes = map(int, self._clients[GANTRY].answer(how, count).split())
        self.samples.add(what, "MiB", GANTRY, grown_bytes / messages * 10_000 / 2**20)

    def _add(self, what: str, name: str, messages: int, seconds: float, cpu_seconds: float) -> None:
        self.samples.add(what, "messages/s", name, messages / seconds)
        if messages:  # Java's producer that batches by itself may have stored none
            self.samples.add(what + CPU_SUFFIX, "us", name, cpu_seconds / messages * 1e6)


def _cpu_seconds(client: LoadClient) -> float:
    return time.clock_gettime(cpu_clock(client.process_id))
