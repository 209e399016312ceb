from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gantrymq.base.disk import DiskError, DiskFailure
from gantrymq.store.consumequeue.queue_flush import (
    BEHIND_BYTES,
    BEHIND_BYTES_A_QUEUE,
    REMOVED_QUEUES_A_TURN,
    SYNCS_MAX,
    WRITTEN_QUEUES_A_TURN,
    QueueFlush,
    QueueFlushPolicy,
)
from gantrymq.store.consumequeue.queue_folder import AfterCrash
from gantrymq.store.consumequeue.queue_unit import UNIT_BYTES
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.layout import POSITION_MAX
from gantrymq.testing.faulty_disk import FaultyDisk, PowerCut
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.testing.unsynced import lose_all

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


def test_nothing_is_written_before_the_interval_is_over() -> None:
    fixture = Fixture(MemoryDisk())
    fixture.fill("A", 450)
    assert fixture.flush.deadline() == 1.0
    fixture.run(0.9)
    assert not fixture.disk.list("consumequeue")
    fixture.run(1.0)
    assert fixture.queues.unwritten_bytes == 0
    assert not fixture.queues.unsynced
    assert fixture.flush.deadline() == 2.0


def test_a_queue_with_few_units_waits_for_the_thorough_round() -> None:
    fixture = Fixture(MemoryDisk())
    fixture.fill("A", 450)
    fixture.fill("B", 1)
    fixture.run(1.0, 45_000)
    assert [queue.topic for queue in fixture.queues.unsynced] == ["B"]
    assert fixture.flush.flushed.position == 0
    fixture.run(60.0, 50_000)
    assert not fixture.queues.unsynced
    assert fixture.flush.flushed.position == 50_000


def test_log_far_ahead_makes_a_round_thorough() -> None:
    fixture = Fixture(MemoryDisk())
    fixture.fill("A", 1)
    ahead = BEHIND_BYTES + 2 * BEHIND_BYTES_A_QUEUE
    fixture.run(1.0, 1000)
    assert fixture.flush.flushed.position == 0
    fixture.run(2.0, ahead)
    assert fixture.flush.flushed.position == ahead


def test_round_advances_the_flush_position_to_its_start() -> None:
    fixture = Fixture(MemoryDisk())
    fixture.fill("A", 1)
    fixture.flush.turn(60.0, LogPosition(1000))
    fixture.fill("B", 1)
    fixture.flush.turn(60.1, LogPosition(2000))
    assert fixture.flush.flushed.position == 0
    fixture.finish()
    assert fixture.flush.flushed.position == 1000
    assert [queue.topic for queue in fixture.queues.unsynced] == ["B"]


def test_one_turn_writes_a_bounded_amount() -> None:
    fixture = Fixture(MemoryDisk())
    for number in range(300):
        fixture.fill(f"T{number}", 1)
    fixture.flush.turn(60.0, LogPosition(1))
    assert len(fixture.background.jobs) == SYNCS_MAX
    assert fixture.flush.deadline() == float("inf")  # only a completion lets it go on
    fixture.finish()
    assert fixture.flush.deadline() == float("-inf")
    assert fixture.run(60.0, 1) <= 300 // SYNCS_MAX
    assert WRITTEN_QUEUES_A_TURN >= SYNCS_MAX


def test_too_many_units_in_memory_are_written_at_once() -> None:
    fixture = Fixture(MemoryDisk(), policy=QueueFlushPolicy(unwritten_bytes_max=10 * UNIT_BYTES))
    fixture.fill("A", 10)
    fixture.flush.turn(0.1, LogPosition(1000))
    assert fixture.queues.unwritten_bytes == 10 * UNIT_BYTES
    fixture.fill("A", 2)
    fixture.flush.turn(0.2, LogPosition(1100))
    assert fixture.queues.unwritten_bytes == UNIT_BYTES


def test_units_wait_until_their_records_are_on_disk() -> None:
    fixture = Fixture(MemoryDisk())
    fixture.fill("A", 450)
    fixture.run(60.0, 20_000)
    queue = fixture.queues.find("A", 0)
    assert queue is not None
    assert (queue.written, queue.synced, queue.end) == (200, 200, 450)
    assert fixture.flush.flushed.position == 20_000
    assert list(fixture.queues.unsynced) == [queue]
    fixture.run(120.0, 45_000)
    assert not fixture.queues.unsynced


def test_queue_that_is_cut_during_its_sync_is_synced_again() -> None:
    fixture = Fixture(FaultyDisk(lose_all), SMALL_FILE_BYTES)
    fixture.fill("A", 4)
    fixture.flush.turn(60.0, LogPosition(400))
    queue = fixture.queues.find("A", 0)
    assert queue is not None
    fixture.flush.cut(LogPosition(100))
    fixture.queues.cut_to_log(100)
    fixture.fill("A", 3)
    fixture.queues.write(queue)
    fixture.finish()
    assert fixture.flush.flushed.position == 0
    fixture.run(60.0)
    assert fixture.flush.flushed.position == 100
    assert queue.synced == queue.end == 4


def test_note_of_dirty_queues_stays_until_a_later_round_ends() -> None:
    fixture = Fixture(MemoryDisk())
    fixture.fill("A", 4)
    fixture.run(60.0)
    fixture.fill("A", 4)
    fixture.flush.turn(120.0, LogPosition(800))
    fixture.queues.cut_to_log(200)
    assert [entry.name for entry in fixture.disk.list("gantry")] == ["unsettled"]
    fixture.run(120.0)
    assert len(fixture.disk.list("gantry")) == 1  # this round had begun before
    fixture.run(180.0)
    assert not fixture.disk.list("gantry")


def test_deleted_topic_is_removed_a_few_queues_a_turn() -> None:
    fixture = Fixture(MemoryDisk())
    for queue_id in range(2 * REMOVED_QUEUES_A_TURN):
        fixture.queues.append("A", queue_id, 0, queue_id * 100, 100, 0)
    fixture.queues.sync_all()
    fixture.queues.delete_topic("A")
    assert fixture.flush.deadline() <= 0.1
    fixture.flush.turn(0.1, LogPosition())
    assert len(fixture.disk.list("consumequeue/A")) == REMOVED_QUEUES_A_TURN
    fixture.flush.turn(0.1, LogPosition())
    assert not fixture.disk.list("consumequeue")
    assert fixture.flush.deadline() == 1.0


def test_topic_may_be_deleted_during_its_sync() -> None:
    fixture = Fixture(MemoryDisk())
    fixture.fill("A", 4)
    fixture.fill("B", 4)
    fixture.flush.turn(60.0, LogPosition(400))
    fixture.queues.delete_topic("A")
    fixture.run(60.0)
    assert fixture.flush.flushed.position == 400


def test_a_failed_sync_is_raised() -> None:
    disk = FaultyDisk()
    fixture = Fixture(disk)
    fixture.fill("A", 4)
    disk.fail("sync")
    with pytest.raises(DiskError, match="sync"):
        fixture.run(60.0)


def test_full_disk_is_raised_and_the_round_continues_later() -> None:
    disk = FaultyDisk()
    fixture = Fixture(disk)
    fixture.fill("A", 4)
    disk.fail("write", DiskFailure.NO_SPACE)
    with pytest.raises(DiskError, match="no space"):
        fixture.run(60.0, 400)
    assert fixture.queues.unwritten_bytes == 4 * UNIT_BYTES
    fixture.run(61.0, 500)
    assert not fixture.queues.unsynced
    assert fixture.flush.flushed.position == 400  # the same round


def test_unknown_tickets_are_rejected() -> None:
    fixture = Fixture(MemoryDisk())
    background = fixture.background
    fixture.fill("A", 1)
    fixture.queues.sync_all()
    path = f"consumequeue/A/0/{0:020d}"
    background.complete(background.sync(fixture.queues.file(path)))
    (completion,) = background.take_completions()
    assert not fixture.flush.take(completion)


def test_after_a_crash_the_flush_position_waits_for_all_queues() -> None:
    disk = MemoryDisk()
    fixture = Fixture(disk)
    fixture.fill("A", 4)
    fixture.queues.sync_all()
    queues = Queues(disk, FILE_BYTES)
    queues.load(0, AfterCrash(300, lambda *_: True))
    flush = QueueFlush(queues, fixture.background, POLICY, 0.0, LogPosition())
    flush.turn(60.0, LogPosition(7))
    assert flush.flushed.position == 0
    assert queues.open_some(1) == 0
    flush.turn(120.0, LogPosition(8))
    fixture.background.complete_all()
    assert [flush.take(each) for each in fixture.background.take_completions()] == [True]
    assert flush.flushed.position == 8


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


@given(st.integers(0, 1 << 32), LIVES)
@example(8109885, KILLED_IN_A_CUT)
def test_power_cuts_lose_no_unit_below_the_flush_position(
    seed: int, lives: list[tuple[list[tuple[str, int, bool]], int, bool, bool]]
) -> None:
    choices = random.Random(seed)
    history = History(choices)
    disk = FaultyDisk(choices.randrange)
    fixture = Fixture(disk, SMALL_FILE_BYTES)
    for steps, crash_after, is_ours, is_killed in lives:
        history.is_ours = is_ours
        disk.crash_at = disk.operations + crash_after
        try:
            history.write(fixture, steps)
            history.stop(fixture)
        except PowerCut:
            pass
        disk = disk.kill() if is_killed else disk.crash()
        fixture = history.recover(disk)
        history.check(fixture.queues)
    history.stop(fixture)
    history.check(fixture.queues)
    disk = disk.crash()  # a clean stop has synced everything
    reopened = Queues(disk, SMALL_FILE_BYTES)
    reopened.load(0)
    history.check(reopened)
    check_nothing_behind_the_ends(reopened, disk)
