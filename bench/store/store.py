"""Measures Gantry's store and Java's DefaultMessageStore, without brokers.

Each part fills new stores, and both are measured in turns. CPU time counts all threads, and
Gantry's sync process; it varies less than the clock, so ratios and targets use it.
"""

from __future__ import annotations

import resource
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import machine
from bench.namesrv.routes import Samples
from bench.namesrv.servers import GANTRY, JAVA
from bench.report import Row
from bench.store.store_data import copy_store, drop_cached, log_files, write_segment
from bench.store.store_workers import SEGMENT_BYTES, StoreWorker, StoreWorkers, Took, scratch
from bench.turns import counted, in_turns

CPU_SUFFIX = ", CPU a message"
OPEN_CPU_SUFFIX = ", CPU"
BODIES = {"128 B": 128, "1 KB": 1024, "64 KB": 65536}
GROUPS = (1, 16, 64)
WAITERS = 64
BATCH = 16
READ_SEGMENT_BYTES = 16 << 20
RECENT_MESSAGES = 8_000  # fewer than Gantry keeps in memory
FRAME_BYTES = 160  # of a record without its body, approximately
HOW_STOPPED = ("a clean stop", "a crash")
EVERY_CORE = set(machine.CORES)


@dataclass(frozen=True, slots=True)
class Pace:
    """The amounts of one run."""

    rounds: int
    warm_up_messages: int
    round_messages: Mapping[str, int]  # by the description of its bodies
    sync_messages: int
    read_messages: int
    killed_bytes: int
    open_rounds: int
    queues: Sequence[int]
    paced_messages: int
    paced_rounds: int


FULL = Pace(
    5, 300_000, {"128 B": 50_000, "1 KB": 20_000, "64 KB": 600},
    20_000, 200_000, 2 << 30, 3, (10_000, 100_000), 10_000, 3,
)  # fmt: skip
QUICK = Pace(
    3, 100_000, {"128 B": 10_000, "1 KB": 5_000, "64 KB": 200},
    5_000, 100_000, 256 << 20, 1, (2_000,), 3_000, 1,
)  # fmt: skip


class DifferenceError(Exception):
    """The two stores found different ends of the same log."""


# ---------------------------------------------------------------- append


def measure_append(pace: Pace) -> list[Row]:
    """Measure appends of single messages, by groups of a turn, and in batches."""
    samples = Samples()
    with scratch() as folder, StoreWorkers(folder).both() as workers:
        _open(workers, folder)
        for _, name in in_turns(1, workers):
            workers[name].took("append", pace.warm_up_messages, 128, 1, GROUPS[-1])
        for words, body in BODIES.items():
            count = pace.round_messages[words]
            for queues in (1, 64):
                for group in GROUPS:
                    what = f"append {words}, {_queues(queues)}, groups of {group}"
                    _rounds(
                        samples, workers, pace.rounds, what, "append", count, body, queues, group
                    )
        count = pace.round_messages["128 B"] // BATCH
        what = f"append 128 B, batches of {BATCH}"
        _rounds(samples, workers, pace.rounds, what, "batch", count, 128, BATCH)
        for words in ("128 B", "1 KB"):
            for queues in (1, 64):
                for group in GROUPS:
                    _fed(samples, workers, pace, words, queues, group)
            _crowd(samples, workers, pace, words)
    return samples.rows()


def _crowd(samples: Samples, workers: Mapping[str, StoreWorker], pace: Pace, words: str) -> None:
    """Measure many clients with one message under way each: a thread each with Java, and the frames
    of one turn with Gantry."""
    what = f"append {words}, {WAITERS} clients, ours from frames"
    body, count = BODIES[words], pace.round_messages[words]
    workers[GANTRY].answer("prepare", body, 1, WAITERS)
    orders = {GANTRY: f"frames {count} {WAITERS}", JAVA: f"sync {count} {body} {WAITERS}"}
    for counts, name in counted(pace.rounds, workers):
        took = workers[name].took(*orders[name].split())
        if counts:
            _add(samples, what, name, took)


def _fed(
    samples: Samples,
    workers: Mapping[str, StoreWorker],
    pace: Pace,
    words: str,
    queues: int,
    group: int,
) -> None:
    """Measure frames through Gantry's kernel, and messages put into Java's store. Gantry also
    parses requests and writes replies."""
    what = f"append {words}, {_queues(queues)}, groups of {group}, ours from frames"
    body, count = BODIES[words], pace.round_messages[words]
    workers[GANTRY].answer("prepare", body, queues, group)
    for counts, name in counted(pace.rounds, workers):
        order = f"frames {count} {group}"
        if name == JAVA:
            order = f"append {count} {body} {queues} {group}"
        took = workers[name].took(*order.split())
        if counts:
            _add(samples, what, name, took)


def measure_sync(pace: Pace) -> list[Row]:
    """Measure SYNC_FLUSH: each of 64 clients waits for the disk before it puts its next message."""
    samples = Samples()
    with scratch() as folder, StoreWorkers(folder).both() as workers:
        _open(workers, folder, is_sync=True)
        for words in ("128 B", "1 KB"):
            what = f"append {words}, {WAITERS} wait for the disk"
            order = ("sync", pace.sync_messages, BODIES[words], WAITERS)
            for counts, name in counted(pace.rounds, workers):
                took = workers[name].took(*order)
                if counts:
                    _add(samples, what, name, took)
                    samples.add(f"{what}, syncs", "syncs/s", name, took.more / took.seconds)
    return samples.rows()


def _add(samples: Samples, what: str, name: str, took: Took) -> None:
    samples.add(what, "messages/s", name, took.rate)
    samples.add(what + CPU_SUFFIX, "us", name, took.cpu_us)


def _rounds(
    samples: Samples,
    workers: Mapping[str, StoreWorker],
    rounds: int,
    what: str,
    *order: object,
) -> None:
    for counts, name in counted(rounds, workers):
        took = workers[name].took(*order)
        if counts:
            _add(samples, what, name, took)


# ---------------------------------------------------------------- read


def measure_read(pace: Pace) -> list[Row]:
    """Measure one queue by pulls of 32: new messages, cached ones, and ones that are not cached."""
    samples = Samples()
    count = pace.read_messages
    with scratch() as folder:
        workers = StoreWorkers(folder)
        with workers.both() as running:
            _open(running, folder, segment_bytes=READ_SEGMENT_BYTES)
            for _, name in in_turns(1, running):
                running[name].took("append", count, 1024, 1, GROUPS[-1])
                running[name].took("read", 0, 0, count)
            for what, first in (("the newest", count - RECENT_MESSAGES), ("cached", 0)):
                order = ("read", 0, first, count - first)
                _rounds(samples, running, pace.rounds, f"read 1 KB, {what}", *order)
            for worker in running.values():
                worker.answer("close")
        for _ in range(pace.rounds):
            for name in (GANTRY, JAVA):
                _read_cold(samples, workers, name, folder / name, count)
    return samples.rows()


def _read_cold(samples: Samples, workers: StoreWorkers, name: str, store: Path, count: int) -> None:
    """Read all but the last files: opening a store reads those, and Java keeps them mapped and
    cached."""
    with workers.one(name) as worker:
        worker.open(store, segment_bytes=READ_SEGMENT_BYTES)
        files = log_files(store)
        cold = int(count * (len(files) - 3) / len(files))
        drop_cached(files)
        took = worker.took("read", 0, 0, cold)
        samples.add("read 1 KB, not cached", "messages/s", name, took.rate)
        samples.add(f"read 1 KB, not cached{CPU_SUFFIX}", "us", name, took.cpu_us)
        worker.answer("close")


# ---------------------------------------------------------------- open


def measure_recovery(pace: Pace) -> list[Row]:
    """Measure recovery: each store is killed with a full log, and opens its own log and the
    other's."""
    samples = Samples()
    gib = pace.killed_bytes / 2**30
    for words in ("1 KB", "128 B"):
        with scratch() as folder:
            workers = StoreWorkers(folder)
            body = BODIES[words]
            count = pace.killed_bytes // (body + FRAME_BYTES)
            for writer in (GANTRY, JAVA):
                killed = folder / f"{writer}-killed"
                _fill_and_kill(workers, writer, killed, count, body)
                what = f"open {gib:.3g} GiB of {words}, {writer} was killed"
                for _ in range(pace.open_rounds):
                    _open_copies(samples, workers, killed, what)
                shutil.rmtree(killed)
    return samples.rows()


def _fill_and_kill(workers: StoreWorkers, writer: str, store: Path, count: int, body: int) -> None:
    with workers.one(writer) as worker:
        worker.open(store)
        worker.took("append", count, body, 4, GROUPS[-1])


def _open_copies(samples: Samples, workers: StoreWorkers, killed: Path, what: str) -> None:
    ends = set()
    for name in (GANTRY, JAVA):
        copy = killed.with_name("copy")
        copy_store(killed, copy)
        with workers.one(name) as worker:
            opened = worker.open(copy)
        shutil.rmtree(copy)
        ends.add(opened.end)
        samples.add(what, "s", name, opened.seconds)
        samples.add(what + OPEN_CPU_SUFFIX, "s", name, opened.cpu_seconds)
    if len(ends) != 1:
        raise DifferenceError(f"{what}: the log ends at {ends}")


def measure_queues(pace: Pace) -> list[Row]:
    """Measure many queues of one message each, after a clean stop and after a crash."""
    samples = Samples()
    for count in pace.queues:
        with scratch() as folder:
            workers = StoreWorkers(folder)
            names = [name for name in (GANTRY, JAVA) if name == GANTRY or count < java_queues_max()]
            for name in names:
                with workers.one(name) as worker:
                    worker.open(folder / name)
                    took = worker.took("queues", 0, count)
                    samples.add(f"make {count} queues", "s", name, took.seconds)
                    worker.answer("close")
            for how in HOW_STOPPED:
                _stop(workers, folder, names, how)
                for _ in range(pace.open_rounds):
                    for name in names:
                        _open_queues(samples, workers, folder / name, name, count, how)
    return samples.rows()


def _stop(workers: StoreWorkers, folder: Path, names: Sequence[str], how: str) -> None:
    """Leave stores for the first of the rounds."""
    for name in names:
        with workers.one(name) as worker:
            worker.open(folder / name)
            if how == "a clean stop":
                worker.answer("close")


def _open_queues(
    samples: Samples, workers: StoreWorkers, store: Path, name: str, count: int, how: str
) -> None:
    what = f"open {count} queues after {how}"
    with workers.one(name) as worker:
        opened = worker.open(store)
        if how == "a clean stop":
            worker.answer("close")
    samples.add(what, "s", name, opened.seconds)
    samples.add(what + OPEN_CPU_SUFFIX, "s", name, opened.cpu_seconds)


def java_queues_max() -> int:
    """The number of queues that Java can have here: it keeps a file of each queue open and
    mapped."""
    mappings = int(Path("/proc/sys/vm/max_map_count").read_text())
    return min(mappings, resource.getrlimit(resource.RLIMIT_NOFILE)[1])


# ---------------------------------------------------------------- latency


def measure_latency(pace: Pace) -> list[Row]:
    """Measure appends while a file of 1 GiB is preallocated or deleted, and while neither
    happens."""
    samples = Samples()
    with scratch() as folder, StoreWorkers(folder).both(cores=EVERY_CORE) as workers:
        _open(workers, folder)
        for _, name in in_turns(1, workers):
            workers[name].took("append", pace.warm_up_messages, 1024, 1, 1)
        for _ in range(pace.paced_rounds):
            for what in ("at rest", "preallocating", "deleting"):
                for _, name in in_turns(1, workers):
                    store, count = folder / name, pace.paced_messages
                    _append_paced(samples, workers[name], name, store, what, count)
    return samples.rows()


def _append_paced(
    samples: Samples, worker: StoreWorker, name: str, store: Path, what: str, count: int
) -> None:
    spare = store / "spare" / f"{0:020d}"
    if what == "deleting":
        write_segment(spare, SEGMENT_BYTES)
    spare.parent.mkdir(exist_ok=True)
    answer = worker.answer("pace", count, 1024, what.replace(" ", "-"), spare)
    for figure, value in zip(("p50", "p99", "longest"), answer.split(), strict=True):
        samples.add(f"append 1 KB, {what}: {figure}", "us", name, float(value))
    spare.unlink(missing_ok=True)


# ---------------------------------------------------------------- all


def _open(
    workers: Mapping[str, StoreWorker],
    folder: Path,
    *,
    is_sync: bool = False,
    segment_bytes: int = SEGMENT_BYTES,
) -> None:
    for name, worker in workers.items():
        worker.open(folder / name, is_sync=is_sync, segment_bytes=segment_bytes)


def _queues(count: int) -> str:
    return "1 queue" if count == 1 else f"{count} queues"


PARTS: Mapping[str, Callable[[Pace], list[Row]]] = {
    "store-append": measure_append,
    "store-sync": measure_sync,
    "store-read": measure_read,
    "store-recovery": measure_recovery,
    "store-queues": measure_queues,
    "store-latency": measure_latency,
}
