"""Measures how many frames a second of CPU time decodes or encodes: Gantry and Java.

Gantry is measured compiled and pure. Each implementation is a process of its own that waits for
orders, so that rounds can alternate. All get the same buffers of 64 KiB, filled with whole frames.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.machine import SERVER_CORE, family, pinned
from bench.namesrv.request import binary_request, json_request, route_requests
from bench.namesrv.servers import java_program, java_release
from bench.report import Figure, Row

ROOT = Path(__file__).resolve().parent.parent.parent
JAVA_SOURCE = Path(__file__).resolve().parent.parent / "java" / "CodecWorker.java"
BUFFER_BYTES = 65536
SEND_MESSAGE_V2 = 310
COMPILED, PURE, JAVA = "Gantry compiled", "Gantry pure", "Java"

SEND_EXT = {
    "a": "bench-producer",
    "b": "orders-topic-00000",
    "c": "TBW102",
    "d": "4",
    "e": "3",
    "f": "0",
    "g": "1700000000000",
    "h": "0",
    "i": "UNIQ_KEY\u0001C000020268CB30946E09674E98260000\u0002"
    "WAIT\u0001true\u0002TAGS\u0001TagA\u0002",
    "j": "0",
    "k": "false",
    "m": "false",
    "n": "broker-000",
}
SENT_EXT = {
    "queueId": "3",
    "TRACE_ON": "true",
    "MSG_REGION": "DefaultRegion",
    "msgId": "7F000001000051AF0000000000012FDC",
    "queueOffset": "123456",
    "transactionId": "C000020268CB30946E09674E98260000",
}
ROUTE_BODY = (
    b'{"brokerDatas":[{"brokerAddrs":{"0":"127.0.0.1:30000"},"brokerName":"broker-000",'
    b'"cluster":"bench","enableActingMaster":false},{"brokerAddrs":{"0":"127.0.0.1:30003"},'
    b'"brokerName":"broker-001","cluster":"bench","enableActingMaster":false}],'
    b'"filterServerTable":{},"queueDatas":[{"brokerName":"broker-000","perm":6,'
    b'"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4},{"brokerName":"broker-001","perm":6,'
    b'"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}]}'
)


@dataclass(frozen=True, slots=True)
class Pace:
    """The durations of one run."""

    warm_up_seconds: float
    round_seconds: float
    rounds: int


FULL = Pace(2.0, 0.3, 5)
QUICK = Pace(0.5, 0.1, 3)


class DisagreementError(Exception):
    """Two decoders read different values from the same bytes."""


class Worker:
    """A process that measures on request."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    @property
    def process_id(self) -> int:
        return self._process.pid

    def process_ids(self) -> Sequence[int]:
        """The process and its children."""
        return family(self.process_id)

    def answer(self, *order: object) -> str:
        """Send an order; returns the line that answers it."""
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join(map(str, order)) + "\n")
        self._process.stdin.flush()
        return self.line()

    def line(self) -> str:
        assert self._process.stdout is not None
        text = self._process.stdout.readline().strip()
        if not text:
            raise EOFError(f"a worker ended with {self._process.wait()}")
        return text

    def rate(self, *order: object) -> float:
        """Frames per second of CPU time, which other work on the machine hardly changes."""
        frames, seconds = self.answer(*order).split()
        return int(frames) / float(seconds)


def measure(pace: Pace) -> list[Row]:
    """Measure every kind of frame with every implementation, in alternating rounds."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="bench-codec-") as name, ExitStack() as stack:
        folder = Path(name)
        workers = {
            COMPILED: stack.enter_context(_python(ROOT / "tests", COMPILED)),
            PURE: stack.enter_context(_python(_sources_alone(folder / "pure"), PURE)),
            JAVA: stack.enter_context(_java(folder)),
        }
        for order, what, frames in _cases():
            path = folder / "frames"
            path.write_bytes(frames)
            _agree(workers, what, path)
            rows.append(_measure_case(workers, order, what, path, pace))
    return rows


def _measure_case(
    workers: Mapping[str, Worker], order: str, what: str, path: Path, pace: Pace
) -> Row:
    workers[JAVA].rate(order, path, pace.warm_up_seconds)
    rates: dict[str, list[float]] = {name: [] for name in workers}
    for _ in range(pace.rounds):
        for name, worker in workers.items():
            rates[name].append(worker.rate(order, path, pace.round_seconds))
    figures = {name: Figure.of(seen) for name, seen in rates.items()}
    return Row(f"{order} {what}", "frames/s", figures)


def _agree(workers: Mapping[str, Worker], what: str, path: Path) -> None:
    seen = {name: worker.answer("check", path) for name, worker in workers.items()}
    if len(set(seen.values())) != 1:
        raise DisagreementError(f"{what}: {seen}")


def _cases() -> Iterator[tuple[str, str, bytes]]:
    """The cases: decode or encode, the kind of frame, and one buffer."""
    body = bytes(range(128))
    for encoding, encode in (("JSON", json_request), ("binary", binary_request)):
        one = encode(SEND_MESSAGE_V2, SEND_EXT, 1000, body)
        send = (encode(SEND_MESSAGE_V2, SEND_EXT, 1000 + at, body) for at in _fitting(one))
        yield "decode", f"SEND_MESSAGE_V2 of 128 B, {encoding}", b"".join(send)
        one = route_requests(["orders-topic-00000"], binary=encoding == "binary")
        topics = [f"orders-topic-{number:05d}" for number in _fitting(one)]
        route = route_requests(topics, binary=encoding == "binary")
        yield "decode", f"GET_ROUTEINFO_BY_TOPIC, {encoding}", route
    for encoding, encode in (("JSON", json_request), ("binary", binary_request)):
        one = encode(0, SENT_EXT, 1000)
        yield "encode", f"answer to a send, {encoding}", one * len(_fitting(one))
        one = encode(0, {}, 1000, ROUTE_BODY)
        yield "encode", f"answer with a route of 2 brokers, {encoding}", one * len(_fitting(one))


def _fitting(frame: bytes) -> range:
    return range(BUFFER_BYTES // len(frame))


def _sources_alone(folder: Path) -> Path:
    """A copy of the product without compiled libraries."""
    ignore = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "common", folder, ignore=ignore)
    return folder


@contextmanager
def _python(import_first: Path, name: str) -> Iterator[Worker]:
    with _worker([sys.executable, "-m", "bench.codec.codec_worker"], import_first) as worker:
        live = worker.line()
        if not name.endswith(live):
            raise RuntimeError(f"{name}: {live} is live; compile with: make .venv/ready")
        yield worker


@contextmanager
def _java(folder: Path) -> Iterator[Worker]:
    java = java_release()
    classes = folder / "classes"
    command = ["javac", "-nowarn", "-cp", java.class_path, "-d", str(classes), str(JAVA_SOURCE)]
    subprocess.run(command, check=True)
    home = folder / "home"
    home.mkdir()
    with _worker([*java_program(java, home, classes), JAVA_SOURCE.stem], ROOT) as worker:
        yield worker


@contextmanager
def _worker(command: Sequence[str], import_first: Path) -> Iterator[Worker]:
    with pinned(SERVER_CORE):
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(import_first)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
    with process:
        try:
            yield Worker(process)
        finally:
            process.kill()
