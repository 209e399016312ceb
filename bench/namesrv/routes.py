"""Measures the route answers of Gantry's and Java's name server, in alternating rounds.

A world is a set of brokers and their topics. For each world both servers start empty, receive the
registrations and the same random queries, and their answers are compared. Then the brokers register
again, once while no client asks, and once while clients ask at half of Java's highest rate.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from bench.load import CLIENTS, PIPELINES, Load, LoadProgram, Shape, result
from bench.namesrv.brokers import Brokers, Fleet, Topic
from bench.namesrv.request import GET_ROUTEINFO_BY_TOPIC, route_requests
from bench.namesrv.servers import GANTRY, JAVA, NameServer, both
from bench.report import Figure, Row
from gantrymq.interop.wire import Request, connect, parse_fastjson

SETTLE_SECONDS = 2.0
COMPARED_TOPICS = 20
TOPICS, BROKERS = 10_000, 50
QUEUES = (4, 8, 16, 1, 2, 32)
PAIRS = list(combinations(range(BROKERS), 2))
CPU_SUFFIX = ", CPU an answer"
KEEP_ALIVE_SECONDS = 30.0  # the period of real brokers


@dataclass(frozen=True, slots=True)
class Pace:
    """The durations and amounts of one run."""

    warm_up_seconds: float
    round_seconds: float
    rounds: int
    latency_seconds: float
    registration_rounds: int
    encodings: Sequence[str]
    worlds: int  # how many of the worlds, from the first on
    with_changes: bool  # whether brokers also register changed topics


FULL = Pace(18.0, 1.5, 3, 1.5, 3, ("JSON", "binary"), 3, with_changes=True)
QUICK = Pace(5.0, 0.4, 2, 0.5, 1, ("JSON",), 2, with_changes=False)


@dataclass(frozen=True, slots=True)
class World:
    """A set of brokers, and the topics that clients ask for."""

    name: str
    brokers: Brokers
    topics: Sequence[str]


def worlds() -> list[World]:
    """The worlds, from a small cluster to one that is larger than most.

    Topics differ in their queues. In the last world nearly every topic has an arrangement of its
    own, so a server that keeps encoded answers must keep thousands of them.
    """
    topics = [
        Topic(f"orders-topic-{number:05d}", QUEUES[number // len(PAIRS) % len(QUEUES)])
        for number in range(TOPICS)
    ]
    spread: list[list[Topic]] = [[] for _ in range(BROKERS)]
    for number, topic in enumerate(topics):
        for broker in PAIRS[number % len(PAIRS)]:
            spread[broker].append(topic)
    names = [topic.name for topic in topics]
    return [
        World("1 topic on 2 brokers", Brokers([topics[:1]] * 2), names[:1]),
        World("10 000 topics, each on all 50 brokers", Brokers([topics] * BROKERS), names),
        World("10 000 topics, each on 2 of 50 brokers", Brokers(spread), names),
    ]


@dataclass(slots=True)
class Samples:
    """The values of all rounds, by (subject, unit) and server; rows in the order of arrival."""

    values: dict[tuple[str, str], dict[str, list[float]]] = field(default_factory=dict)

    def add(self, what: str, unit: str, server: str, value: float) -> None:
        self.values.setdefault((what, unit), {}).setdefault(server, []).append(value)

    def rows(self, prefix: str = "") -> list[Row]:
        return [
            Row(prefix + what, unit, {name: Figure.of(seen) for name, seen in servers.items()})
            for (what, unit), servers in self.values.items()
        ]


class DifferenceError(Exception):
    """The two servers gave different answers to the same query."""


def measure_idle() -> list[Row]:
    """Measure the memory with no broker registered."""
    samples = Samples()
    with both() as servers:
        time.sleep(SETTLE_SECONDS)
        for name, server in servers.items():
            memory = server.memory()
            samples.add("idle: RSS", "MiB", name, memory.rss)
            samples.add("idle: PSS", "MiB", name, memory.pss)
    return samples.rows()


def measure_ceiling(program: LoadProgram, folder: Path, pace: Pace) -> list[Row]:
    """Measure the load program with a trivial server, with a small and a large answer."""
    requests = folder / "requests"
    requests.write_bytes(route_requests(["orders-topic-00000"], binary=False))
    samples = Samples()
    for size in (600, 10_000):
        answer = size.to_bytes(4, "big") + bytes(size)
        with program.answering(answer) as server:
            for shape in (CLIENTS, PIPELINES):
                for _ in range(pace.rounds):
                    load = program.run(server.port, requests, shape, pace.round_seconds)
                    what = f"load program's ceiling, {size} B answers, {shape.text}"
                    samples.add(what, "answers/s", "trivial C server", load.rate)
    return samples.rows()


def measure_world(world: World, program: LoadProgram, pace: Pace) -> list[Row]:
    """Measure one world."""
    samples = Samples()
    with both() as servers, _fleets(servers, world) as fleets:
        _register_from_nothing(servers, fleets, samples)
        _compare(servers, world)
        with tempfile.TemporaryDirectory(prefix="bench-requests-") as folder:
            bench = _Bench(servers, fleets, samples, program, pace, Path(folder))
            bench.write_requests(world)
            bench.warm_up()
            for encoding in pace.encodings:
                for shape in (CLIENTS, PIPELINES):
                    bench.ask(encoding, shape)
            bench.latency_at_rest()
            bench.register_again()
            bench.latency_while_registering()
        for name, server in servers.items():
            samples.add("RSS at the end", "MiB", name, server.memory().rss)
    return samples.rows(f"{world.name}: ")


@contextmanager
def _fleets(servers: dict[str, NameServer], world: World) -> Iterator[dict[str, Fleet]]:
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(Fleet(server.port, world.brokers))
            for name, server in servers.items()
        }


def _register_from_nothing(
    servers: dict[str, NameServer], fleets: dict[str, Fleet], samples: Samples
) -> None:
    for name, server in servers.items():
        before = server.cpu_seconds()
        samples.add("first registration of all", "s", name, fleets[name].register())
        samples.add("first registration of all, CPU", "s", name, server.cpu_seconds() - before)
    time.sleep(SETTLE_SECONDS)
    for name, server in servers.items():
        samples.add("RSS after it", "MiB", name, server.memory().rss)


def _compare(servers: dict[str, NameServer], world: World) -> None:
    """Check that both servers answer the same, except for the order of brokers, which is that of a
    hash table in Java."""
    step = max(1, len(world.topics) // COMPARED_TOPICS)
    for topic in [*world.topics[::step], "broker-000", "no such topic"]:
        answers = [_answer(server, topic) for server in servers.values()]
        if answers[0] != answers[1]:
            raise DifferenceError(f"{topic}: {' and '.join(servers)} answer {answers}")


def _answer(server: NameServer, topic: str) -> object:
    with connect(f"127.0.0.1:{server.port}") as connection:
        answer = connection.ask(Request(GET_ROUTEINFO_BY_TOPIC, {"topic": topic}))
    if not answer.body:
        return answer.code, answer.remark
    body = parse_fastjson(answer.body)
    assert isinstance(body, dict)
    for key in ("brokerDatas", "queueDatas"):
        body[key] = sorted(body[key], key=lambda item: json.dumps(item, sort_keys=True))
    return answer.code, body


class _Bench:
    """One world's servers, and the client connections to them."""

    def __init__(
        self,
        servers: dict[str, NameServer],
        fleets: dict[str, Fleet],
        samples: Samples,
        program: LoadProgram,
        pace: Pace,
        folder: Path,
    ) -> None:
        self._servers = servers
        self._fleets = fleets
        self._samples = samples
        self._program = program
        self._pace = pace
        self._requests = {"JSON": folder / "json", "binary": folder / "binary"}

    def write_requests(self, world: World) -> None:
        for encoding, path in self._requests.items():
            path.write_bytes(route_requests(world.topics, binary=encoding == "binary"))

    def warm_up(self) -> None:
        """Let Java compile, which it does while it runs. On one core that takes long, so Java gets
        most of the time. Pipelines come first, since they bring the most calls."""
        for name, server in self._servers.items():
            seconds = self._pace.warm_up_seconds * (1.0 if name == JAVA else 0.1)
            for shape in (PIPELINES, CLIENTS):
                for encoding in self._pace.encodings:
                    share = seconds / 2 / len(self._pace.encodings)
                    self._program.run(server.port, self._requests[encoding], shape, share)

    def ask(self, encoding: str, shape: Shape) -> None:
        """Measure the highest rate."""
        self._keep_alive()
        what = f"{encoding}, {shape.text}"
        for _ in range(self._pace.rounds):
            for name, server in self._servers.items():
                before = server.cpu_seconds()
                load = self._program.run(
                    server.port, self._requests[encoding], shape, self._pace.round_seconds
                )
                cpu_us = (server.cpu_seconds() - before) / load.answers * 1e6
                self._samples.add(what, "answers/s", name, load.rate)
                self._samples.add(f"{what}{CPU_SUFFIX}", "us", name, cpu_us)
                self._samples.add(
                    f"{what}, size of an answer", "B", name, load.bytes / load.answers
                )

    def latency_at_rest(self) -> None:
        """Measure latency at half of Java's highest rate for both, and at half of Gantry's for
        Gantry."""
        half = self._half_of(JAVA)
        for _ in range(self._pace.rounds):
            for name, server in self._servers.items():
                load = self._at_rate(server, half)
                self._latencies("at half of Java's rate", name, load)
        for _ in range(self._pace.rounds):
            load = self._at_rate(self._servers[GANTRY], self._half_of(GANTRY))
            self._latencies("at half of its own rate", GANTRY, load)

    def register_again(self) -> None:
        """Measure what a registration period costs if nothing has changed."""
        for _ in range(self._pace.registration_rounds):
            for name, server in self._servers.items():
                before = server.cpu_seconds()
                seconds = self._fleets[name].register()
                cpu = server.cpu_seconds() - before
                self._samples.add("unchanged registration of all", "s", name, seconds)
                self._samples.add("unchanged registration of all, CPU", "s", name, cpu)

    def latency_while_registering(self) -> None:
        """Measure latency while all brokers register at once, unchanged and then changed."""
        half = self._half_of(JAVA)
        usual = self._samples.values["unchanged registration of all", "s"]
        for changed in (False, True) if self._pace.with_changes else (False,):
            for name, server in self._servers.items():
                if changed:
                    self._fleets[name].change()
                seconds = self._pace.latency_seconds + 2 * max(usual[name])
                running = self._program.start(
                    server.port, self._requests["JSON"], CLIENTS, seconds, half
                )
                time.sleep(self._pace.latency_seconds / 5)
                self._fleets[name].register()
                what = "while changed brokers register" if changed else "while brokers register"
                self._latencies(what, name, result(running, seconds))

    def _at_rate(self, server: NameServer, rate: float) -> Load:
        seconds = self._pace.latency_seconds
        return self._program.run(server.port, self._requests["JSON"], CLIENTS, seconds, rate)

    def _latencies(self, what: str, name: str, load: Load) -> None:
        self._samples.add(f"{what}: p50", "ms", name, load.p50_us / 1000)
        self._samples.add(f"{what}: p99", "ms", name, load.p99_us / 1000)
        self._samples.add(f"{what}: longest wait", "ms", name, load.max_us / 1000)
        self._samples.add(f"{what}: longest pause", "ms", name, load.longest_gap_us / 1000)

    def _half_of(self, name: str) -> float:
        rates = self._samples.values[f"JSON, {CLIENTS.text}", "answers/s"][name]
        return Figure.of(rates).median / 2

    def _keep_alive(self) -> None:
        """Register in time: a name server drops brokers that are silent for two minutes."""
        for fleet in self._fleets.values():
            if fleet.silent_seconds > KEEP_ALIVE_SECONDS:
                fleet.register()
