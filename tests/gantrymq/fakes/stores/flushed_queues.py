"""Provides consume queues with their flush, and histories of them with power cuts and kills."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from hypothesis import strategies as st

from gantrymq.store.consumequeue.queue_flush import (
    QueueFlush,
    QueueFlushPolicy,
)
from gantrymq.store.consumequeue.queue_folder import AfterCrash
from gantrymq.store.consumequeue.queue_unit import UNIT_BYTES
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.layout import POSITION_MAX
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import MemoryDisk

FILE_BYTES = 500 * UNIT_BYTES
SMALL_FILE_BYTES = 5 * UNIT_BYTES
POLICY = QueueFlushPolicy()


class Fixture:
    """Queues, their flush, and a device that ends jobs when `finish` says so."""

    def __init__(
        self,
        disk: MemoryDisk | FaultyDisk,
        file_bytes: int = FILE_BYTES,
        policy: QueueFlushPolicy = POLICY,
    ) -> None:
        self.disk = disk
        self.background = MemoryBackground(disk)
        self.queues = Queues(disk, file_bytes)
        self.queues.load(0)
        self.flush = QueueFlush(self.queues, self.background, policy, 0.0, LogPosition())

    def fill(self, topic: str, count: int) -> None:
        queue = self.queues.find(topic, 0)
        begin = 0 if queue is None else queue.end
        for offset in range(begin, begin + count):
            self.queues.append(topic, 0, offset, offset * 100, 100, 0)

    def finish(self) -> None:
        self.background.complete_all()
        for completion in self.background.take_completions():
            assert self.flush.take(completion)

    def run(self, now: float, on_disk: int = POSITION_MAX) -> int:
        """Run one whole round; return the number of its turns."""
        for turns in range(1, 10_000):
            self.flush.turn(now, LogPosition(on_disk))
            self.finish()
            if not self.flush.is_under_way:
                return turns
        raise AssertionError("a round without an end")


STEPS = st.lists(
    st.tuples(st.sampled_from("AAABC"), st.integers(1, 9), st.booleans()), min_size=1, max_size=15
)


@dataclass
class History:
    """A log of records of 100 bytes, dispatched to queues whose disk loses power at some change,
    or whose process ends.

    In a life of ours units are written when their records are flushed; then the log survives up
    to a random place behind what was flushed. Another program writes them when it likes, so that
    they may be of records that the log loses.
    """

    random: random.Random
    log: list[tuple[str, int]] = field(default_factory=list)
    marked: int = 0
    flushed: int = 0
    is_ours: bool = True

    def dispatch(self, queues: Queues, begin: int) -> None:
        for number in range(begin, len(self.log)):
            topic, offset = self.log[number]
            queues.append(topic, 0, offset, number * 100, 100, number)

    def write(self, fixture: Fixture, steps: list[tuple[str, int, bool]]) -> None:
        now = 0.0
        for topic, count, is_flushed in steps:
            for _ in range(count):
                offset = sum(1 for each, _ in self.log if each == topic)
                self.log.append((topic, offset))
            self.dispatch(fixture.queues, len(self.log) - count)
            now += 60.0 if is_flushed else 0.5
            fixture.queues.open_some(self.random.randrange(3))
            self.flushed = self.random.randint(self.flushed, len(self.log))
            on_disk = self.flushed if self.is_ours else len(self.log)
            fixture.flush.turn(now, LogPosition(on_disk * 100))
            fixture.background.complete_some(self.random.randrange)
            for completion in fixture.background.take_completions():
                fixture.flush.take(completion)
            self.marked = max(self.marked, fixture.flush.flushed.position // 100)
            if not self.random.randrange(20):
                self.cut(fixture, self.random.randint(0, len(self.log)))

    def cut(self, fixture: Fixture, end: int) -> None:
        """Truncate the log, as a member does whose log differs from its master's."""
        self.marked = min(self.marked, end)
        fixture.flush.cut(LogPosition(end * 100))
        fixture.queues.cut_to_log(end * 100)
        self.flushed = min(self.flushed, end)
        del self.log[end:]

    def stop(self, fixture: Fixture) -> None:
        self.flushed = len(self.log)
        fixture.queues.sync_all()

    def recover(self, disk: FaultyDisk) -> Fixture:
        """Recover: units above the flush position are not trusted."""
        kept = max(self.marked, self.flushed if self.is_ours else 0)
        del self.log[self.random.randint(kept, len(self.log)) :]
        self.flushed = len(self.log)
        fixture = Fixture.__new__(Fixture)
        fixture.disk = disk
        fixture.background = MemoryBackground(disk)
        fixture.queues = Queues(disk, SMALL_FILE_BYTES)
        crash = AfterCrash(self.marked * 100, self.confirms, is_ours=self.is_ours)
        fixture.queues.load(0, crash)
        self.dispatch(fixture.queues, self.marked)
        fixture.flush = QueueFlush(fixture.queues, fixture.background, POLICY, 0.0, LogPosition())
        return fixture

    def confirms(
        self, topic: str, _queue_id: int, offset: int, physical_offset: int, size: int
    ) -> bool:
        number, rest = divmod(physical_offset, 100)
        is_record = (size, rest) == (100, 0) and number < len(self.log)
        return is_record and self.log[number] == (topic, offset)

    def check(self, queues: Queues) -> None:
        for topic in sorted({topic for topic, _ in self.log}):
            queue = queues.find(topic, 0)
            wanted = [number for number, (each, _) in enumerate(self.log) if each == topic]
            assert queue is not None
            assert [queue.unit(n) for n in range(queue.end)] == [
                (number * 100, 100, number) for number in wanted
            ]


def check_nothing_behind_the_ends(queues: Queues, disk: FaultyDisk) -> None:
    """Assert that the files have no units behind the ends, which Java would trust."""
    for queue in queues.queues():
        for unit in range(queue.end, queue.files_end):
            path = queue.folders.path(queue.topic, 0, unit)
            at = unit % queue.folders.file_units * UNIT_BYTES
            assert disk.open(path).read(at, UNIT_BYTES) == bytes(UNIT_BYTES)


LIVES = st.lists(
    st.tuples(STEPS, st.integers(0, 60), st.sampled_from([True, True, False]), st.booleans()),
    max_size=5,
)
# A cut of the queues, killed before its removals were synced; then the power goes.
KILLED_IN_A_CUT = [
    (
        [("B", 1, False), ("C", 8, True), ("A", 1, False), ("A", 5, True), ("A", 9, False)],
        27,
        True,
        False,
    ),
    (
        [("A", 3, False), ("A", 3, True), ("A", 1, False), ("B", 1, False), ("A", 1, False)],
        51,
        False,
        True,
    ),
    ([("B", 1, False), ("C", 2, True), ("A", 1, False)], 19, True, False),
]
