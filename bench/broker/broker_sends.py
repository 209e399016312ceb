"""Measures sends to Gantry's broker and to Java's, by Java's own client and by the load program.

Where the client is faster than the broker, the broker is the limit; the load program is always fast
enough. It counts answers without reading them: refused messages show in the ends of the queues, and
only stored messages count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.broker.broker_paces import Pace
from bench.broker.broker_servers import Broker, both
from bench.broker.load_clients import LoadClient, LoadClients
from bench.broker.message_requests import sends
from bench.load import CLIENTS, PIPELINES, Load, LoadProgram, Shape
from bench.machine import shared, stolen_seconds
from bench.namesrv.routes import Samples
from bench.namesrv.servers import GANTRY, JAVA
from bench.report import Figure, Row
from bench.store.store_workers import scratch
from bench.turns import alone, counted, in_turns

TOPIC: Final = "bench-orders"
QUEUES: Final = 16
THREADS: Final = 64
WINDOW: Final = 256
BODY: Final = 128
BATCH: Final = 16
FRAMES: Final = 20_000
CPU_SUFFIX: Final = ", CPU a message"
REFUSED_SUFFIX: Final = ", refused"
CLIENT: Final = "Java client"
HALF_OF_JAVA: Final = "send at half of Java's rate"
HALF_OF_OWN: Final = "send at half of its own rate"
SYNC_FLUSH: Final = f"send, 64 wait for the disk, {CLIENTS.text}"
SYNC_SHARE: Final = f"{SYNC_FLUSH}, share of the rate without"


@dataclass(frozen=True, slots=True)
class Requests:
    """Files of encoded requests, and the number of messages in each request."""

    path: Path
    batch: int = 1


@contextmanager
def serving(folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[dict[str, Broker]]:
    """Both brokers, with the topic."""
    with both(folder, settings) as brokers:
        for broker in brokers.values():
            broker.create_topic(TOPIC, QUEUES)
        yield brokers


def write_sends(path: Path, *, body: int = BODY, batch: int = 1, binary: bool = False) -> Requests:
    count = max(1, FRAMES * BODY // body // batch)
    path.write_bytes(sends(TOPIC, QUEUES, body, count, batch=batch, binary=binary))
    return Requests(path, batch)


def measure_sends(pace: Pace) -> list[Row]:
    """Measure rates, the broker's cost per message, and latencies."""
    samples = Samples()
    with scratch() as folder, serving(folder) as brokers:
        clients = LoadClients(folder)
        for encoding in pace.encodings:
            with clients.of(brokers, encoding, TOPIC) as running:
                _by_clients(samples, brokers, running, encoding, pace)
        program = LoadProgram(folder)
        _by_program(samples, brokers, program, folder, pace)
        requests = write_sends(folder / "latency")
        _latencies(samples, brokers, program, requests, pace)
    return samples.rows()


def measure_shared_sends(pace: Pace) -> list[Row]:
    """Measure with all cores for both client and broker, so that each can use what the other
    leaves."""
    samples = Samples()
    with shared(), scratch() as folder, serving(folder) as brokers:
        clients = LoadClients(folder)
        for encoding in pace.encodings:
            with clients.of(brokers, encoding, TOPIC) as running:
                _by_clients(samples, brokers, running, encoding, pace)
    return samples.rows()


# ---------------------------------------------------------------- Java's client


def _by_clients(
    samples: Samples,
    brokers: Mapping[str, Broker],
    clients: Mapping[str, LoadClient],
    encoding: str,
    pace: Pace,
) -> None:
    for _, name in in_turns(1, brokers, clients):
        # The client's JVM compiles while it runs, as that of the Java broker does.
        clients[name].sent("sync", THREADS, pace.warm_up_seconds, BODY)
    orders = {
        f"sync, {THREADS} threads": ("sync", THREADS, ()),
        f"async, {WINDOW} under way": ("async", WINDOW, ()),
        f"batches of {BATCH}, {THREADS} threads": ("batch", THREADS, (BATCH,)),
    }
    for words, (how, under_way, more) in orders.items():
        what = f"{CLIENT}, {encoding}: {words}"
        for counts, name in counted(pace.rounds, brokers, clients):
            before = brokers[name].cpu_seconds()
            seconds = pace.round_seconds if counts else pace.warm_up_seconds
            sent = clients[name].sent(how, under_way, seconds, BODY, *more)
            cpu = brokers[name].cpu_seconds() - before
            if not counts:
                continue
            _add(samples, what, name, sent.messages, sent.seconds, cpu, sent.refused)
            if sent.max_us:
                samples.add(f"{what}: p50", "ms", name, sent.p50_us / 1000)
                samples.add(f"{what}: p99", "ms", name, sent.p99_us / 1000)


# ---------------------------------------------------------------- the load program


def _by_program(
    samples: Samples,
    brokers: Mapping[str, Broker],
    program: LoadProgram,
    folder: Path,
    pace: Pace,
) -> None:
    for encoding in pace.encodings:
        is_binary = encoding == "binary"
        one = write_sends(folder / f"sends-{encoding}", binary=is_binary)
        many = write_sends(folder / f"batches-{encoding}", batch=BATCH, binary=is_binary)
        for shape in (CLIENTS, PIPELINES):
            what = f"load program, {encoding}: {shape.text}"
            send_rounds(samples, brokers, program, one, what, shape, pace)
        what = f"load program, {encoding}: batches of {BATCH}, {CLIENTS.text}"
        send_rounds(samples, brokers, program, many, what, CLIENTS, pace)


def send_rounds(
    samples: Samples,
    brokers: Mapping[str, Broker],
    program: LoadProgram,
    requests: Requests,
    what: str,
    shape: Shape,
    pace: Pace,
) -> None:
    """Measure the highest rate of each broker, in turns."""
    for counts, name in counted(pace.rounds, brokers):
        run = Run(brokers[name], program, requests)
        load = run.send(shape, pace.seconds_of(name, counts=counts))
        # Messages under way at the end are stored and not answered.
        refused = max(0, load.answers * requests.batch - run.stored)
        if counts:
            _add(samples, what, name, run.stored, load.seconds, run.cpu_seconds, refused)


class Run:
    """One run of the load program against one broker."""

    def __init__(self, broker: Broker, program: LoadProgram, requests: Requests) -> None:
        self._broker = broker
        self._program = program
        self._requests = requests
        self.stored = 0
        self.cpu_seconds = 0.0

    def send(self, shape: Shape, seconds: float, rate: float = 0.0) -> Load:
        stored, cpu = self._broker.stored(TOPIC, QUEUES), self._broker.cpu_seconds()
        load = self._program.run(self._broker.port, self._requests.path, shape, seconds, rate)
        self.cpu_seconds = self._broker.cpu_seconds() - cpu
        self.stored = self._broker.stored(TOPIC, QUEUES) - stored
        return load


def _latencies(
    samples: Samples,
    brokers: Mapping[str, Broker],
    program: LoadProgram,
    requests: Requests,
    pace: Pace,
) -> None:
    rates = samples.values[f"load program, JSON: {CLIENTS.text}", "messages/s"]
    halves = {name: Figure.of(seen).median / 2 for name, seen in rates.items()}
    for _, name in in_turns(pace.rounds, brokers):
        run = Run(brokers[name], program, requests)
        _waits(samples, HALF_OF_JAVA, name, run, pace.latency_seconds, halves[JAVA])
        if name == GANTRY:
            _waits(samples, HALF_OF_OWN, name, run, pace.latency_seconds, halves[name])


def _waits(samples: Samples, what: str, name: str, run: Run, seconds: float, rate: float) -> None:
    """Add the latencies. A core that the host gives to another machine for 30 ms shows in each of
    them."""
    stolen = stolen_seconds()
    load = run.send(CLIENTS, seconds, rate)
    stolen = stolen_seconds() - stolen
    samples.add(f"{what}: p50", "ms", name, load.p50_us / 1000)
    samples.add(f"{what}: p99", "ms", name, load.p99_us / 1000)
    samples.add(f"{what}: longest wait", "ms", name, load.max_us / 1000)
    samples.add(f"{what}: longest pause", "ms", name, load.longest_gap_us / 1000)
    samples.add(f"{what}: stolen of a core", "%", name, stolen / load.seconds * 100)


# ---------------------------------------------------------------- the disk


def measure_flush(pace: Pace) -> list[Row]:
    """Measure the cost of waiting for the disk: four brokers, in turns."""
    samples = Samples()
    with (
        scratch() as folder,
        serving(folder / "async") as quick,
        serving(folder / "sync", {"flushDiskType": "SYNC_FLUSH"}) as safe,
    ):
        program, requests = LoadProgram(folder), write_sends(folder / "sends")
        brokers_of_all = [*quick.values(), *safe.values()]
        for broker in brokers_of_all:
            with alone([broker], brokers_of_all):
                program.run(broker.port, requests.path, CLIENTS, pace.warm_up_seconds / 2)
        for name in quick:
            for _ in range(pace.rounds):
                rates = {}
                for is_safe, brokers in ((False, quick), (True, safe)):
                    run = Run(brokers[name], program, requests)
                    with alone([brokers[name]], brokers_of_all):
                        load = run.send(CLIENTS, pace.round_seconds)
                    rates[is_safe] = run.stored / load.seconds
                    if is_safe:
                        cpu_us = run.cpu_seconds / max(1, run.stored) * 1e6
                        samples.add(SYNC_FLUSH + CPU_SUFFIX, "us", name, cpu_us)
                samples.add(SYNC_FLUSH, "messages/s", name, rates[True])
                samples.add(SYNC_SHARE, "%", name, rates[True] / rates[False] * 100)
    return samples.rows()


def _add(
    samples: Samples,
    what: str,
    name: str,
    messages: int,
    seconds: float,
    cpu_seconds: float,
    refused: int,
) -> None:
    samples.add(what, "messages/s", name, messages / seconds)
    samples.add(what + CPU_SUFFIX, "us", name, cpu_seconds / max(1, messages) * 1e6)
    if refused:
        samples.add(what + REFUSED_SUFFIX, "messages", name, refused)
