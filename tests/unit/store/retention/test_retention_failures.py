"""Tests the deletion of old files while removals fail or the disk is full."""

from __future__ import annotations

import contextlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.disk import DiskError
from gantrymq.fakes.stores.retained_store import (
    HOUR,
    LOG_BYTES,
    QUEUE_UNITS,
    RECORDS_A_FILE,
    ROUND_SECONDS,
    START_MS,
    Kept,
    filled,
)
from gantrymq.store.consumequeue.queue_unit import UNIT_BYTES
from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.record.put_status import PutStatus
from gantrymq.store.retention.disk_watch import LOOK_SECONDS
from gantrymq.store.retention.retention import (
    BUSY_SECONDS,
    FIRST_LOOK_SECONDS,
    HOUR_MS,
)
from gantrymq.testing.faulty_disk import FaultyDisk, PowerCut
from gantrymq.testing.memory_disk import BLOCK_BYTES, Storage


def test_one_round_deletes_a_batch_with_pauses() -> None:
    kept = filled(14, hour=HOUR)
    pause = kept.settings.delete_commit_log_files_interval / 1000
    kept.run(1.0)
    assert kept.files()[0] == 1
    kept.run(4.5 * pause)
    assert kept.files()[0] == 5
    kept.run(5.0)
    assert kept.files()[0] == 10
    kept.run(ROUND_SECONDS)
    assert kept.files() == [13]


def test_one_removal_runs_at_a_time() -> None:
    kept = filled(hour=HOUR)
    kept.now = FIRST_LOOK_SECONDS
    for _ in range(3):
        kept.turn()
        kept.now += 1.0
    assert [job.kind for job in kept.background.jobs] == ["remove"]
    assert kept.retention.deadline() == kept.now - 1.0 + BUSY_SECONDS


def test_file_being_removed_is_not_counted_again() -> None:
    kept = filled(hour=HOUR)
    kept.disk.memory.now_ms = START_MS + HOUR_MS
    file = kept.disk.open(kept.log.segments.path_of(2 * LOG_BYTES))
    file.write(0, [file.read(0, 1)])
    for kept.now in (FIRST_LOOK_SECONDS, FIRST_LOOK_SECONDS + ROUND_SECONDS):
        kept.turn()
    kept.complete()
    kept.run(ROUND_SECONDS - 1.0)
    assert kept.files() == [2, 3, 4, 5]


def test_files_that_recovery_needs_stay() -> None:
    kept = filled(hour=HOUR)
    kept.keep_from = 2 * LOG_BYTES + 100
    kept.run(100.0)
    assert kept.files() == [2, 3, 4, 5]
    kept.keep_from = 3 * LOG_BYTES
    kept.run(ROUND_SECONDS)
    assert kept.files() == [3, 4, 5]


def test_the_file_that_is_written_to_stays() -> None:
    kept = filled(1, hour=HOUR)
    kept.run(100.0)
    assert kept.log.start == 0
    assert kept.files()[0] == 0


def test_a_file_that_cannot_be_removed_is_tried_again_before_any_other() -> None:
    kept = filled(hour=HOUR)
    kept.disk.fail("remove", path=kept.log.segments.path_of(0))
    kept.now = FIRST_LOOK_SECONDS
    kept.turn()
    kept.complete()
    assert kept.log.start == 0
    assert len(kept.files()) == 6
    kept.run(2 * ROUND_SECONDS)
    assert kept.files() == [5]


def test_folder_that_cannot_be_listed_is_tried_again() -> None:
    kept = filled(hour=HOUR)
    kept.disk.fail("list")
    kept.run(2.0)
    assert len(kept.files()) == 6
    assert kept.retention.failure is not None
    kept.run(ROUND_SECONDS)
    assert kept.files() == [5]


def test_queue_that_cannot_be_read_does_not_stop_deletion() -> None:
    kept = filled(hour=HOUR)
    kept.disk.fail("read", path="consumequeue/T/0/00000000000000000000")
    kept.disk.fail("read", path="consumequeue/T/0/00000000000000000100")
    kept.run(ROUND_SECONDS + 2.0)
    assert kept.retention.failure is not None
    kept.run(2 * ROUND_SECONDS)
    assert kept.files() == [5]
    queue = kept.queues.find("T", 0)
    assert queue is not None
    assert queue.minimum == 5 * RECORDS_A_FILE


def test_full_disk_refuses_deletes_and_accepts_again() -> None:
    disk = FaultyDisk(storage=Storage(100 * BLOCK_BYTES))
    kept = Kept(disk)
    kept.now = FIRST_LOOK_SECONDS - LOOK_SECONDS
    refused = None
    while refused is None:
        refused = kept.put(RECORDS_A_FILE)
        kept.complete()
        kept.queues.sync_all()
        kept.watch.look_soon()
        kept.watch.turn(kept.now)
    assert refused.status is PutStatus.SERVICE_NOT_AVAILABLE
    assert "diskSpaceWarningLevelRatio" in refused.text
    kept.run(20 * ROUND_SECONDS)
    assert kept.put(1) == refused  # nothing is old enough
    kept.age_ms = 72 * HOUR_MS
    kept.run(20 * ROUND_SECONDS)
    assert kept.watch.used_percent < kept.settings.disk_max_used_space_ratio
    assert kept.put(RECORDS_A_FILE) is None


def test_reserve_allows_dispatch_on_a_disk_that_others_filled() -> None:
    disk = FaultyDisk(storage=Storage(200 * BLOCK_BYTES))
    kept = Kept(disk)
    assert kept.put(2) is None
    kept.complete()
    others = disk.create("others")
    others.allocate(0, disk.usage("").free_bytes)
    with pytest.raises(DiskError, match="no space left"):
        kept.queues.sync_all()
    assert kept.watch.out_of_space()
    assert kept.put(1) is not None
    kept.queues.sync_all()
    assert disk.open("consumequeue/T/0/00000000000000000000").size() == QUEUE_UNITS * UNIT_BYTES
    others.close()
    disk.remove("others")
    kept.run(3 * LOOK_SECONDS)
    assert kept.put(1) is None
    assert kept.reserve.is_held


@given(seed=st.integers(0, 1 << 32), crash_after=st.integers(1, 30))
def test_a_power_cut_at_any_point_of_the_deletion_leaves_no_gap(
    seed: int, crash_after: int
) -> None:
    kept = filled(hour=HOUR)
    disk = kept.disk
    disk.choose = kept.choose = random.Random(seed).randrange
    first_kept, end = 5 * LOG_BYTES, kept.log.end
    disk.crash_at = disk.operations + crash_after
    with contextlib.suppress(PowerCut):
        kept.run(10 * ROUND_SECONDS)
    again = Kept(disk.crash(), hour=HOUR)  # load refuses a log with a gap
    assert again.log.start <= first_kept < end <= again.log.segments.past
    again.log.resume(LogPosition(end, 0, 1))
    queue = again.queues.find("T", 0)
    assert queue is not None
    assert not again.queues.faults
    assert queue.end == 6 * RECORDS_A_FILE
    assert queue.minimum <= 5 * RECORDS_A_FILE
    again.age_ms = 72 * HOUR_MS
    again.run(FIRST_LOOK_SECONDS + 3 * ROUND_SECONDS)
    assert again.files() == [5]
    assert len(again.disk.list("consumequeue/T/0")) == 1
    assert len(again.disk.list("index")) == 1
