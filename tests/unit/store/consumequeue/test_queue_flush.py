"""Tests the flush of consume queues: its rounds, its bounds and its failures."""

from __future__ import annotations

import pytest

from gantrymq.base.disk import DiskError, DiskFailure
from gantrymq.fakes.stores.flushed_queues import (
    FILE_BYTES,
    POLICY,
    SMALL_FILE_BYTES,
    Fixture,
)
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
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.testing.unsynced import lose_all


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
