"""Runs the two stores under measurement: one process each, which waits for orders.

Both get the same orders and answer in the same words (java/StoreWorker.java names them). A worker
that is killed leaves its store as a crash of the broker would.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.codec.codec import ROOT, Worker
from bench.machine import SERVER_CORE
from bench.namesrv.servers import GANTRY, JAVA, java_program, java_release

JAVA_SOURCE = Path(__file__).resolve().parent.parent / "java" / "StoreWorker.java"
SEGMENT_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Took:
    """The cost of an order: its messages, the seconds by the clock, and the CPU seconds of all
    threads."""

    messages: int
    seconds: float
    cpu_seconds: float
    more: int

    @property
    def rate(self) -> float:
        return self.messages / self.seconds

    @property
    def cpu_us(self) -> float:
        """Microseconds of CPU time per message."""
        return self.cpu_seconds / self.messages * 1e6


def parse_took(answer: str, cpu_seconds: float) -> Took:
    """Parse the answer to an order that appends or reads: messages, seconds, and other counts."""
    messages, seconds, *more = answer.split()
    return Took(int(messages), float(seconds), cpu_seconds, int(more[0]) if more else 0)


@dataclass(frozen=True, slots=True)
class Opened:
    """The duration of a start, and the end of the log that it found."""

    seconds: float
    cpu_seconds: float
    end: int


class StoreWorker(Worker):
    """A process with at most one store open."""

    def open(
        self, folder: Path, *, is_sync: bool = False, segment_bytes: int = SEGMENT_BYTES
    ) -> Opened:
        flush = "SYNC_FLUSH" if is_sync else "ASYNC_FLUSH"
        before = self._cpu_seconds()
        seconds, end = self.answer("open", folder, flush, segment_bytes).split()
        return Opened(float(seconds), self._cpu_seconds() - before, int(end))

    def took(self, *order: object) -> Took:
        before = self._cpu_seconds()
        answer = self.answer(*order)
        return parse_took(answer, self._cpu_seconds() - before)

    def _cpu_seconds(self) -> float:
        """CPU time of all its threads and of its child processes, with a resolution of 1 ns."""
        return sum(time.clock_gettime(cpu_clock(each)) for each in self.process_ids())


def cpu_clock(process_id: int) -> int:
    """The clock id of a process's CPU time, as Linux numbers it."""
    return ~process_id << 3 | 2


class StoreWorkers:
    """Starts workers; compiles the Java program once."""

    def __init__(self, folder: Path) -> None:
        classes = folder / "classes"
        java = java_release()
        command = ["javac", "-nowarn", "-cp", java.class_path, "-d", str(classes), str(JAVA_SOURCE)]
        subprocess.run(command, check=True)
        home = folder / "home"
        home.mkdir()
        self._commands: Mapping[str, list[str]] = {
            GANTRY: [sys.executable, "-m", "bench.store.store_worker"],
            JAVA: [*java_program(java, home, classes), JAVA_SOURCE.stem],
        }

    @contextmanager
    def one(self, name: str, *, cores: set[int] | None = None) -> Iterator[StoreWorker]:
        """A worker on the server core, or on the given cores; killed at the end."""
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, cores or {SERVER_CORE})
        try:
            process = subprocess.Popen(
                self._commands[name],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        finally:
            os.sched_setaffinity(0, before)
        with process:
            try:
                yield StoreWorker(process)
            finally:
                process.kill()

    @contextmanager
    def both(self, *, cores: set[int] | None = None) -> Iterator[dict[str, StoreWorker]]:
        with self.one(GANTRY, cores=cores) as ours, self.one(JAVA, cores=cores) as theirs:
            yield {GANTRY: ours, JAVA: theirs}


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder on the disk of /var/tmp, since /tmp may be in memory."""
    with tempfile.TemporaryDirectory(prefix="bench-store-", dir="/var/tmp") as name:
        yield Path(name)
