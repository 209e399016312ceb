"""Runs the rounds: batches of two body sizes, then small micro-batches, in alternating order."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final, NamedTuple, final

from bench import machine, turns
from bench.report import Figure, Row
from bench.spark import brokers, messages
from bench.spark.brokers import BrokerProcess
from bench.spark.sessions import GANTRY, KAFKA, SparkProcess, session

BODIES: Final = {"1 KiB": 1024, "128 bytes": 128}
READS: Final = {
    "aggregate": "count, bytes and last offset",
    "noop": "all columns, written nowhere",
    "two columns": "count, bytes and last offset of two columns by a schema",
}
ONLY_GANTRY: Final = "two columns"
MICRO_BATCH_ROWS: Final = 20
WARM_UPS: Final = 3  # rounds that do not count: a JVM compiles in the first ones


@final
@dataclass(frozen=True, slots=True)
class Amount:
    """The amounts of one run."""

    rows: Mapping[str, int]
    """The number of messages of a topic, by the size of their bodies."""
    rounds: int
    micro_batches: int


FULL: Final = Amount({"1 KiB": 600_000, "128 bytes": 1_200_000}, rounds=5, micro_batches=30)
QUICK: Final = Amount({"1 KiB": 50_000, "128 bytes": 100_000}, rounds=2, micro_batches=10)


class Side(NamedTuple):
    """A broker and the session that reads from it."""

    broker: BrokerProcess
    spark: SparkProcess

    def process_ids(self) -> list[int]:
        return [*self.broker.process_ids(), *self.spark.process_ids()]


def measure(amount: Amount) -> list[Row]:
    """Measure every figure; all processes share all cores: `local[2]` and a broker beside it."""
    with machine.shared(), sides() as both:
        rows = []
        for size, count in amount.rows.items():
            fill(both, f"rows-{BODIES[size]}", count, BODIES[size])
            rows += _reads(both, size, count, amount.rounds)
        fill(both, "few", amount.micro_batches * MICRO_BATCH_ROWS, BODIES["1 KiB"])
        rows += _micro_batches(both, amount.rounds)
        rows.append(
            Row(
                "session, memory in the end (JVM, Python driver and workers)",
                "MiB",
                {name: Figure.of([side.spark.memory_mib()]) for name, side in both.items()},
            )
        )
    return rows


def versions() -> dict[str, str]:
    """The versions of everything that is compared."""
    return {
        "spark": version("pyspark"),
        "pyarrow": version("pyarrow"),
        "kafka": brokers.pinned("kafka.xml", "kafka_2.13"),
        "connector": brokers.pinned("kafka-connector.xml", "spark-sql-kafka-0-10_2.13"),
    }


@contextmanager
def sides() -> Iterator[dict[str, Side]]:
    """Both brokers with their sessions, empty."""
    with ExitStack() as stack:
        started = {}
        for name, start in ((KAFKA, brokers.kafka), (GANTRY, brokers.gantry)):
            broker = stack.enter_context(start())
            spark = stack.enter_context(session(name, broker.address))
            started[name] = Side(broker, spark)
        try:
            yield started
        finally:
            turns.proceed(started.values())


def fill(both: Mapping[str, Side], topic: str, rows: int, body_bytes: int) -> None:
    """Put the same bodies into a topic of each broker."""
    rest = messages.filler(body_bytes).hex()
    both[KAFKA].spark.order("fill", topic, rows=rows, filler=rest)
    messages.fill_gantry(both[GANTRY].broker.address, topic, rows, body_bytes)


def _reads(both: Mapping[str, Side], size: str, count: int, rounds: int) -> list[Row]:
    table = []
    for read, about in READS.items():
        asked = {name: side for name, side in both.items() if read != ONLY_GANTRY or name == GANTRY}
        seen: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for number, name in turns.in_turns(WARM_UPS + rounds, asked):
            figures = _read(asked[name], read, size, count)
            for unit, value in figures.items() if number >= WARM_UPS else ():
                seen[unit][name].append(value)
        for (what, unit), values in _labelled(seen):
            by_side = {name: Figure.of(found) for name, found in values.items()}
            table.append(Row(f"{size}: {about}{what}", unit, by_side))
    return table


def _read(side: Side, read: str, size: str, count: int) -> dict[str, float]:
    cpu, of_broker = side.spark.cpu_seconds(), side.broker.cpu_seconds()
    answer = side.spark.order(read, f"rows-{BODIES[size]}")
    counts = answer["counts"]
    if counts is not None and counts[:2] != [count, count * BODIES[size]]:
        raise RuntimeError(f"{read} of {count} rows of {size} gave {counts}")
    return {
        "cpu": (side.spark.cpu_seconds() - cpu) / count * 1e6,
        "broker": (side.broker.cpu_seconds() - of_broker) / count * 1e6,
        "rows": count / answer["seconds"],
    }


def _labelled(
    seen: Mapping[str, Mapping[str, list[float]]],
) -> Iterator[tuple[tuple[str, str], Mapping[str, list[float]]]]:
    yield (", CPU of Spark a row", "us"), seen["cpu"]
    yield (", CPU of the broker a row", "us"), seen["broker"]
    yield ("", "rows/s"), seen["rows"]


def _micro_batches(both: Mapping[str, Side], rounds: int) -> list[Row]:
    """The median duration of each round's micro-batches; the first of a query is slower, and only
    one of many."""
    took: dict[str, list[float]] = {name: [] for name in both}
    cpu: dict[str, list[float]] = {name: [] for name in both}
    for is_counted, name in turns.counted(rounds, both):
        before = both[name].spark.cpu_seconds()
        each_ms = both[name].spark.order("stream", "few", rows=MICRO_BATCH_ROWS)["batch_ms"]
        if is_counted:
            took[name].append(statistics.median(each_ms))
            cpu[name].append((both[name].spark.cpu_seconds() - before) / len(each_ms) * 1000)
    what = f"a micro-batch of {MICRO_BATCH_ROWS} rows"
    return [
        Row(what, "ms", {name: Figure.of(found) for name, found in took.items()}),
        Row(
            f"{what}, CPU of Spark (the query's start among it)",
            "ms",
            {name: Figure.of(found) for name, found in cpu.items()},
        ),
    ]
