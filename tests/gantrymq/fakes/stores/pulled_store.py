"""Provides a store of one topic to pull from, with a log and queues in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from hypothesis import strategies as st

from gantrymq.store.commitlog.commitlog import CommitLog
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.index.index import Index
from gantrymq.store.index.index_file import IndexSizes
from gantrymq.store.read.async_reader import AsyncReader, ReadTask
from gantrymq.store.read.pull import pull
from gantrymq.store.read.pull_query import Pulled, PullQuery, PullStatus
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.message.record import Record, decode_all

HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
LOG_FILE_BYTES = 4096
QUEUE_FILE_UNITS = 20
SETTINGS = StoreSettings(mapped_file_size_commit_log=LOG_FILE_BYTES)
MEMORY_BYTES = 1 << 40
OVERHEAD_BYTES = 92  # of a message in a topic of one letter
T = TypeVar("T")


class Store:
    """Log and queues of topic T; `readable` is the log's end unless it is set."""

    def __init__(self, settings: StoreSettings = SETTINGS, tail_bytes: int = 1 << 20) -> None:
        self.disk = MemoryDisk()
        self.background = MemoryBackground(self.disk)
        self.settings = settings
        self.log = CommitLog(self.disk, self.background, settings, tail_bytes=tail_bytes)
        self.log.load()
        self.log.resume(LogPosition())
        self.queues = Queues(self.disk, QUEUE_FILE_UNITS * 20)
        self.queues.load(0)
        self.index = Index(self.disk, IndexSizes(10, 10), lambda: "1")
        self.unreadable_bytes = 0

    @property
    def readable(self) -> int:
        return self.log.end - self.unreadable_bytes

    def put(self, queue_id: int, body: bytes, tags_code: int = 0) -> int:
        """Store the message; return its log position."""
        queue = self.queues.find("T", queue_id)
        offset = 0 if queue is None else queue.end
        message = Record(
            b"T", body, queue_id=queue_id, queue_offset=offset, born_host=HOST, store_host=HOST
        )
        arena = self.log.start_group(1000 + self.log.end)
        arena.add(message)
        assert self.log.write(arena, 0.0) is None
        position = message.physical_offset
        self.queues.append("T", queue_id, offset, position, message.size, tags_code)
        return position

    def cool(self) -> None:
        """Drop everything from the memory, on a disk that does not tell what it has cached."""
        for queue in self.queues.queues():
            self.queues.write(queue)
        self.log._tail.clear()
        self.disk.reads_cached = False

    def remove_log_file(self) -> None:
        assert self.log.remove_first()
        self.background.complete_all()
        for completion in self.background.take_completions():
            assert self.log.take(completion, 0.0)

    def finish(self, reading: ReadTask[T]) -> T:
        """Run the task by completions and turns; return its result or raise its error."""
        background = MemoryBackground(self.disk)
        readings = AsyncReader(background)
        readings.start(1, reading)
        while not (finished := readings.take_finished()):
            background.complete_all()
            for completion in background.take_completions():
                assert readings.take(completion)
            readings.turn()
        if finished[0].error is not None:
            raise finished[0].error
        result: T = finished[0].result  # type: ignore[assignment]  # the result of this reading
        return result

    def pull(
        self, offset: int, count_max: int = 32, memory_bytes: int = MEMORY_BYTES, queue_id: int = 0
    ) -> Pulled:
        query = PullQuery("T", queue_id, offset, count_max)
        return self.finish(pull(self, query, memory_bytes))


def filled(count: int, body_bytes: int = 100, settings: StoreSettings = SETTINGS) -> Store:
    """Messages 0, 1, 2... of queue 0, each of which begins with its number."""
    store = Store(settings)
    for number in range(count):
        store.put(0, b"%d " % number + bytes(body_bytes - len(str(number)) - 1))
    return store


def place(store: Store, offset: int) -> int:
    """The log position of this message of queue 0."""
    queue = store.queues.find("T", 0)
    assert queue is not None
    return queue.unit(offset)[0]


def at_once(reading: ReadTask[T]) -> T:
    """The result of a task that never waits."""
    try:
        next(reading)
    except StopIteration as stop:
        result: T = stop.value
        return result
    raise AssertionError("it waits, or rests")


def numbers(pulled: Pulled) -> list[int]:
    """The numbers of the messages of an answer; its figures must be correct."""
    records = decode_all(b"".join(pulled.chunks))
    assert (pulled.count, pulled.size) == (len(records), sum(map(len, pulled.chunks)))
    assert (pulled.status is PullStatus.FOUND) == bool(records)
    return [record.queue_offset for record in records]


def outcome(pulled: Pulled) -> tuple[PullStatus, int, int, int]:
    return pulled.status, pulled.next_offset, pulled.minimum, pulled.maximum


def everything(pulled: Pulled) -> tuple[object, ...]:
    """The whole answer, with the chunks joined: their number does not matter."""
    records = b"".join(pulled.chunks)
    return *outcome(pulled), records, pulled.count, pulled.size, pulled.suggests_slave


def damage(store: Store, position: int, data: bytes) -> None:
    path = store.log.segments.path_of(position)
    store.disk.open(path).write(position % LOG_FILE_BYTES, [data])
    store.log._tail.clear()


@dataclass(frozen=True)
class Put:
    queue_id: int
    body_bytes: int
    tags_code: int


PUTS = st.lists(
    st.builds(Put, st.integers(0, 2), st.integers(1, 900), st.integers(0, 2)),
    min_size=1,
    max_size=60,
)
