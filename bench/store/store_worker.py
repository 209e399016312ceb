"""Drives Gantry's store by orders on standard input.

`python -m bench.store.store_worker` understands the orders of java/StoreWorker.java, and `frames`:
the requests that `prepare` made, as they come from a socket. A turn of the store is like a turn of
the broker: a group of messages is put, or fed as frames, and then written at once.
"""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Callable
from contextlib import closing
from itertools import cycle, islice
from pathlib import Path
from threading import Thread
from typing import Final

from bench.namesrv.request import binary_request
from gantrymq.runtime.storage.disk import FolderDisk
from gantrymq.runtime.storage.disk_background import DiskBackground
from gantrymq.store.append.kernel import Kernel
from gantrymq.store.engine import Store
from gantrymq.store.read.pull import pull
from gantrymq.store.read.pull_query import Pulled, PullQuery, PullStatus
from gantrymq.store.record.put_status import PutStatus, Refused
from gantrymq.store.settings import FlushDiskType, StoreSettings
from gantrymq.store.turn_result import TurnResult
from gantrymq.wire.message import batch as batch_codec
from gantrymq.wire.message.record import Record

TOPIC: Final = b"bench-topic"
HOST: Final = bytes((127, 0, 0, 1, 0, 0, 0x2A, 0x9F))
PROPERTIES: Final = [
    b"UNIQ_KEY\x01%032X\x02TAGS\x01TagA\x02" % (number * 2654435761) for number in range(1 << 14)
]
PULL: Final = 32
QUEUES_A_TOPIC: Final = 10
GROUP: Final = 64
QUEUES_MAX: Final = 64
SEND_MESSAGE_V2: Final = 310
BURST: Final = 5
SEGMENT_BYTES: Final = 1 << 30
PHYSICAL_MEMORY_BYTES: Final = 1 << 40  # limits of recent messages never apply, as in Java


class RefusedError(Exception):
    """The store did not carry out an order."""


class Driver:
    """One open store, and its turns."""

    def __init__(self, folder: Path, flush: str, segment_bytes: int) -> None:
        self.folder = folder
        self.disk = FolderDisk(folder)
        self._background = DiskBackground(self.disk)
        self._ready = select.poll()
        self._ready.register(self._background.fileno(), select.POLLIN)
        settings = StoreSettings(
            flush_disk_type=FlushDiskType(flush),
            mapped_file_size_commit_log=segment_bytes,
            store_path_root_dir=str(folder),
        )
        self.store = Store(
            self.disk,
            self._background,
            settings,
            new_index_name=_index_name,
            local_hour=lambda wall_ms: time.localtime(wall_ms // 1000).tm_hour,
        )
        self._kernel = Kernel(
            self.store.queues,
            HOST,
            region="DefaultRegion",
            added_properties=b"",
            max_message_size=settings.max_message_size,
            file_bytes=segment_bytes,
        )
        self._kernel.serve(TOPIC, QUEUES_MAX)
        self._unanswered = 0

    def open(self) -> None:
        for _ in self.store.open(time.monotonic()):
            pass

    def put(self, message: Record) -> None:
        _number(self.store.put(message))
        self._unanswered += 1

    def put_batch(self, messages: list[Record]) -> None:
        _number(self.store.put_batch(messages))
        self._unanswered += 1

    def feed(self, requests: bytes) -> None:
        fed = self.store.feed(self._kernel, requests, 0, HOST, _wall_ms())
        if fed.at != len(requests):
            raise RefusedError(f"the kernel took {fed.at} of {len(requests)} bytes")
        self._unanswered += 1

    def turn(self) -> TurnResult:
        turn = self.store.turn(time.monotonic(), _wall_ms())
        for answer in turn.answers:
            if answer.status is not PutStatus.PUT_OK:
                raise RefusedError(f"{answer.status}: {answer.remark}")
        self._unanswered -= len(turn.answers)
        return turn

    def wait(self) -> None:
        """Sleep until the disk has completed work, or the store has work that is due."""
        seconds = self.store.deadline() - time.monotonic()
        if seconds > 0:
            self._ready.poll(seconds * 1000)

    def pull(self, query: PullQuery) -> Pulled:
        """Carry out a pull; waits for the parts that are not in memory."""
        reader = self.store.reader
        reader.start(0, pull(self.store, query, PHYSICAL_MEMORY_BYTES))
        ended = reader.take_finished()
        while not ended:
            self.wait()
            ended = self.turn().finished_reads
        (one,) = ended
        if not isinstance(one.result, Pulled):
            raise RefusedError(f"a pull of {query} ended with {one.error}")
        return one.result

    def settle(self) -> None:
        """Wait until all messages are answered, and are in the queues and the index."""
        while self._unanswered or self.store.dispatch_behind:
            self.wait()
            self.turn()

    def close(self) -> None:
        self.store.close(time.monotonic(), _wall_ms())
        self._background.close()
        self.disk.close()


class Orders:
    """The orders; each returns the line that answers it."""

    def __init__(self) -> None:
        self._driver: Driver | None = None
        self._requests: list[bytes] = []

    @property
    def _open(self) -> Driver:
        if self._driver is None:
            raise RefusedError("no store is open")
        return self._driver

    def open(self, folder: str, flush: str, segment_bytes: str) -> str:
        self._driver = Driver(Path(folder), flush, int(segment_bytes))
        began = time.perf_counter()
        self._driver.open()
        return f"{_since(began)} {self._driver.store.log.end}"

    def close(self) -> str:
        self._open.close()
        self._driver = None
        return "closed"

    def append(self, count: str, body_bytes: str, queues: str, group: str) -> str:
        body, queue_count, size = _body(int(body_bytes)), int(queues), int(group)
        driver = self._open
        numbers = iter(range(int(count)))
        began = time.perf_counter()
        while turn := list(islice(numbers, size)):
            for number in turn:
                driver.put(_message(TOPIC, number % queue_count, number, body))
            driver.turn()
        driver.settle()
        return f"{count} {_since(began)}"

    def prepare(self, body_bytes: str, queues: str, group: str) -> str:
        body, queue_count, size = _body(int(body_bytes)), int(queues), int(group)
        driver = self._open
        # the kernel does not take the message that creates a queue
        for queue_id in range(queue_count):
            driver.put(_message(TOPIC, queue_id, queue_id, body))
        driver.turn()
        driver.settle()
        requests = [_request(number % queue_count, number, body) for number in range(1 << 14)]
        self._requests = [
            b"".join(requests[at : at + size]) for at in range(0, len(requests), size)
        ]
        return f"{len(self._requests)}"

    def frames(self, count: str, group: str) -> str:
        """Write frames in whole groups only."""
        driver, requests = self._open, cycle(self._requests)
        groups = int(count) // int(group)
        began = time.perf_counter()
        for data in islice(requests, groups):
            driver.feed(data)
            driver.turn()
        driver.settle()
        return f"{groups * int(group)} {_since(began)}"

    def batch(self, count: str, body_bytes: str, size: str) -> str:
        body = _body(int(body_bytes))
        parts = [batch_codec.BatchPart(body, 0, PROPERTIES[at]) for at in range(int(size))]
        request = batch_codec.encode(parts)
        driver = self._open
        began = time.perf_counter()
        for _ in range(int(count)):
            found = batch_codec.decode(request)
            driver.put_batch([_record(TOPIC, 0, part.body, part.properties) for part in found])
            driver.turn()
        driver.settle()
        return f"{int(count) * int(size)} {_since(began)}"

    def sync(self, count: str, body_bytes: str, waiters: str) -> str:
        body = _body(int(body_bytes))
        driver = self._open
        flushed: set[int] = set()
        numbers = iter(range(int(count)))
        began = time.perf_counter()
        free, answered = int(waiters), 0
        while answered < int(count):
            for number in islice(numbers, free):
                driver.put(_message(TOPIC, 0, number, body))
            free = len(driver.turn().answers)
            answered += free
            if free:
                flushed.add(driver.store.readable)
            else:
                driver.wait()
        driver.settle()
        return f"{count} {_since(began)} {len(flushed)}"

    def read(self, queue: str, offset: str, count: str) -> str:
        driver = self._open
        at, end, size = int(offset), int(offset) + int(count), 0
        began = time.perf_counter()
        while at < end:
            pulled = driver.pull(PullQuery(TOPIC.decode(), int(queue), at, PULL))
            if pulled.status is not PullStatus.FOUND:
                raise RefusedError(f"{pulled.status} at {at}")
            size += pulled.size
            at = pulled.next_offset
        return f"{count} {_since(began)} {size}"

    def queues(self, first: str, past: str) -> str:
        body = _body(128)
        driver = self._open
        numbers = iter(range(int(first), int(past)))
        began = time.perf_counter()
        while turn := list(islice(numbers, GROUP)):
            for number in turn:
                topic = b"%b-%05d" % (TOPIC, number // QUEUES_A_TOPIC)
                driver.put(_message(topic, number % QUEUES_A_TOPIC, number, body))
            driver.turn()
        driver.settle()
        return f"{int(past) - int(first)} {_since(began)}"

    def pace(self, count: str, body_bytes: str, what: str, path: str) -> str:
        body = _body(int(body_bytes))
        driver = self._open
        name = str(Path(path).relative_to(driver.folder))
        other = Thread(target=_disturb, args=(driver.disk, what, name))
        other.start()
        took = [0.0] * int(count)
        for number in range(int(count)):
            if number % BURST == 0:
                time.sleep(0.001)
            began = time.perf_counter()
            driver.put(_message(TOPIC, 0, number, body))
            driver.turn()
            took[number] = time.perf_counter() - began
        other.join()
        driver.settle()
        took.sort()
        figures = (took[len(took) // 2], took[-1 - len(took) // 100], took[-1])
        return " ".join(f"{seconds * 1e6:.1f}" for seconds in figures)


def main() -> None:
    orders = Orders()
    for line in sys.stdin:
        order, *words = line.split()
        obey: Callable[..., str] = getattr(orders, order)
        print(obey(*words), flush=True)


def _disturb(disk: FolderDisk, what: str, path: str) -> None:
    """Do what retention and preallocation do, with a background of its own."""
    with closing(DiskBackground(disk)) as background:
        if what == "preallocating":
            background.allocate(disk.create(path), 0, SEGMENT_BYTES)
        elif what == "deleting":
            background.remove(path)
        else:
            return
        select.select([background], [], [])
        for completion in background.take_completions():
            if completion.error is not None:
                raise completion.error


def _number(put: int | Refused) -> None:
    if isinstance(put, Refused):
        raise RefusedError(put.text)


def _message(topic: bytes, queue_id: int, number: int, body: bytes) -> Record:
    return _record(topic, queue_id, body, PROPERTIES[number % len(PROPERTIES)])


def _record(topic: bytes, queue_id: int, body: bytes, properties: bytes) -> Record:
    return Record(
        topic,
        body,
        properties=properties,
        queue_id=queue_id,
        born_timestamp_ms=_wall_ms(),
        born_host=HOST,
        store_host=HOST,
    )


def _request(queue_id: int, number: int, body: bytes) -> bytes:
    """A request as a Java client writes it, in the binary header encoding."""
    ext = {
        "a": "bench-producer",
        "b": TOPIC.decode(),
        "c": "TBW102",
        "d": "4",
        "e": str(queue_id),
        "f": "0",
        "g": str(_wall_ms()),
        "h": "0",
        "i": PROPERTIES[number % len(PROPERTIES)].decode(),
        "j": "0",
        "k": "false",
        "m": "false",
        "n": "broker-a",
    }
    return binary_request(SEND_MESSAGE_V2, ext, number, body)


def _body(size: int) -> bytes:
    return bytes(at & 0xFF for at in range(size))


def _since(began: float) -> str:
    return f"{time.perf_counter() - began:.9f}"


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


def _index_name() -> str:
    now = _wall_ms()
    return time.strftime("%Y%m%d%H%M%S", time.localtime(now // 1000)) + f"{now % 1000:03d}"


if __name__ == "__main__":
    main()
