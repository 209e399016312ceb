"""Tests which old files are deleted, and that needed files never are."""

from __future__ import annotations

import contextlib
import itertools
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.disk import DiskError
from gantrymq.base.errors import ConfigurationError
from gantrymq.store.commitlog.commitlog import CommitLog
from gantrymq.store.consumequeue.queue_unit import UNIT_BYTES
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.files.reserve import Reserve
from gantrymq.store.index.index import Index
from gantrymq.store.index.index_file import IndexSizes
from gantrymq.store.index.index_flush import IndexFlush
from gantrymq.store.layout import POSITION_MAX
from gantrymq.store.record.put import PutStatus, Refused
from gantrymq.store.retention.disk_watch import LOOK_SECONDS, DiskWatch
from gantrymq.store.retention.retention import (
    BUSY_SECONDS,
    FIRST_LOOK_SECONDS,
    HOUR_MS,
    MANUAL_ROUNDS,
    Retention,
)
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.faulty_disk import FaultyDisk, PowerCut
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import BLOCK_BYTES, Storage
from gantrymq.testing.unsynced import Chooser
from gantrymq.wire.message.record import Record

LOG_BYTES = 4096
RECORDS_A_FILE = 4
QUEUE_UNITS = 5
HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
HOUR = 4  # of deleteWhen
START_MS = 1_700_000_000_000
ROUND_SECONDS = 10.0
SETTINGS = StoreSettings(mapped_file_size_commit_log=LOG_BYTES)
TOTAL_BYTES = 10_000 * BLOCK_BYTES  # a disk that a small store leaves nearly empty


def message(topic: bytes = b"T") -> Record:
    """A message of a quarter of a file of the log."""
    record = Record(topic, bytes(900), born_host=HOST, store_host=HOST)
    assert record.size * RECORDS_A_FILE < LOG_BYTES < record.size * (RECORDS_A_FILE + 1)
    return record


class Kept:
    """A store's parts on a disk that breaks on request; hour and clocks are set by hand."""

    def __init__(
        self, disk: FaultyDisk | None = None, chosen: StoreSettings | None = None, hour: int = 0
    ) -> None:
        self.settings = chosen or SETTINGS
        self.hour = hour
        self.keep_from = POSITION_MAX
        self.choose: Chooser | None = None  # which jobs of the disk end in a turn: all
        self.now = 0.0
        self.age_ms = 0
        self.disk = disk or FaultyDisk(storage=Storage(TOTAL_BYTES))
        self.disk.memory.now_ms = START_MS
        self.background = MemoryBackground(self.disk)
        self.log = CommitLog(self.disk, self.background, self.settings, tail_bytes=0)
        self.log.load()
        self.queues = Queues(self.disk, QUEUE_UNITS * UNIT_BYTES)
        self.queues.load(self.log.start)
        names = itertools.count(20_261_121_000_000_000)
        self.index = Index(self.disk, IndexSizes(8, 5), lambda: str(next(names)))
        self.index.load(is_clean=True, flushed_ms=0)
        self.reserve = Reserve(self.disk, self.background)
        self.reserve.open()
        self.watch = DiskWatch(self.disk.usage, self.reserve, self.settings)
        self.offset = 0
        self.retention = Retention(
            self.disk,
            self.background,
            self.settings,
            self.log,
            self.queues,
            self.index,
            self.watch,
            local_hour=lambda _: self.hour,
            keep_from=lambda: self.keep_from,
            now=self.now,
        )

    def put(self, count: int) -> Refused | None:
        """Put this many messages, each in its own group, and dispatch them, until one is
        refused."""
        for _ in range(count):
            refused = self.watch.refusal()
            if refused is not None:
                return refused
            record = message()
            arena = self.log.start_group(self.disk.memory.now_ms)
            arena.add(record)
            refused = self.log.write(arena, self.now)
            if refused is not None:
                return refused
            place = record.physical_offset
            self.queues.append("T", 0, self.offset, place, record.size, 0)
            self.index.put(b"T", b"k", b"", place, 1)
            self.offset += 1
        return None

    def sync(self) -> None:
        """Sync everything."""
        for position in range(self.log.start, self.log.end, LOG_BYTES):
            self.log.segments.ask_sync(position)
        self.background.complete_all()
        self.background.take_completions()
        self.queues.sync_all()
        IndexFlush(self.index, self.background, 0.0, LogPosition()).flush(self.log.mark)

    def turn(self) -> None:
        self.watch.turn(self.now)
        self.retention.turn(self.now, START_MS + self.age_ms)

    def complete(self) -> None:
        if self.choose is None:
            self.background.complete_all()
        else:
            self.background.complete_some(self.choose)
        for completion in self.background.take_completions():
            taken = self.log.take(completion, self.now) or self.retention.take(completion)
            assert taken or self.reserve.take(completion)

    def run(self, seconds: float) -> None:
        """Let this much time pass."""
        end = self.now + seconds
        while (deadline := min(self.retention.deadline(), self.watch.deadline())) <= end:
            self.now = max(self.now, deadline)
            self.turn()
            self.complete()
        self.now = end

    def files(self) -> list[int]:
        """The numbers of the log's files."""
        return [int(entry.name) // LOG_BYTES for entry in self.disk.list("commitlog")]


def filled(
    files: int = 6, *, chosen: StoreSettings | None = None, hour: int = 0, hours_old: int = 72
) -> Kept:
    """A store with this many files of the log, all of the same age, shortly before the first
    check."""
    kept = Kept(chosen=chosen, hour=hour)
    assert kept.put(files * RECORDS_A_FILE) is None
    kept.complete()
    kept.sync()
    kept.age_ms = hours_old * HOUR_MS
    kept.now = FIRST_LOOK_SECONDS - 1
    return kept


def fill_disk(kept: Kept, percent: int) -> None:
    """Shrink the disk until this percentage is used."""
    storage = kept.disk.memory.storage
    storage.total_bytes = storage.used_blocks * BLOCK_BYTES * 100 // percent


# ---------------------------------------------------------------------- when


def test_old_files_are_deleted_in_their_hour_with_queue_and_index_files() -> None:
    kept = filled(hour=HOUR)
    kept.run(2.0)
    assert kept.files() == [5]
    kept.run(ROUND_SECONDS)
    queue = kept.queues.find("T", 0)
    assert queue is not None
    assert queue.minimum == 5 * RECORDS_A_FILE
    assert len(kept.disk.list("consumequeue/T/0")) == 1
    assert [entry.name for entry in kept.disk.list("index")] == ["20261121000000005"]
    assert kept.retention.failure is None


def test_nothing_is_deleted_at_another_hour() -> None:
    kept = filled(hour=HOUR + 1)
    kept.run(100.0)
    assert kept.files() == [0, 1, 2, 3, 4, 5]
    kept.hour = HOUR
    kept.run(ROUND_SECONDS)
    assert kept.files() == [5]


def test_changed_settings_apply_to_the_next_check() -> None:
    kept = filled(hour=HOUR + 1, hours_old=10)
    kept.run(ROUND_SECONDS)
    kept.retention.change(replace(SETTINGS, delete_when="05"))
    kept.run(ROUND_SECONDS)
    assert len(kept.files()) == 6, "the hour is right, they are too young"
    kept.retention.change(replace(SETTINGS, delete_when="05", file_reserved_time=10))
    kept.run(ROUND_SECONDS)
    assert kept.files() == [5]


def test_a_lower_ratio_deletes_at_any_hour() -> None:
    kept = filled()
    fill_disk(kept, 60)
    kept.run(2 * ROUND_SECONDS)
    assert len(kept.files()) == 6
    kept.retention.change(replace(SETTINGS, disk_max_used_space_ratio=59))
    kept.run(ROUND_SECONDS)
    assert kept.files() == [5]


def test_shorter_pause_applies_to_files_of_queues_too() -> None:
    slow = replace(
        SETTINGS,
        delete_commit_log_files_interval=3_600_000,
        delete_consume_queue_files_interval=3_600_000,
    )
    kept = filled(chosen=slow, hour=HOUR)
    kept.run(3 * ROUND_SECONDS)
    assert len(kept.files()) == 5
    kept.retention.change(SETTINGS)
    kept.run(3_600 + 3 * ROUND_SECONDS)
    assert kept.files() == [5]
    assert len(kept.disk.list("consumequeue/T/0")) == 1


def test_nothing_is_deleted_before_recovery_is_complete() -> None:
    kept = filled(hour=HOUR)
    kept.run(0.9)
    assert len(kept.files()) == 6


def test_young_files_are_kept() -> None:
    kept = filled(hour=HOUR, hours_old=71)
    kept.run(100.0)
    assert len(kept.files()) == 6


def test_young_file_keeps_the_later_ones() -> None:
    kept = filled(hour=HOUR)
    kept.disk.memory.now_ms = START_MS + HOUR_MS
    file = kept.disk.open(kept.log.segments.path_of(2 * LOG_BYTES))
    file.write(0, [file.read(0, 1)])
    kept.run(100.0)
    assert kept.files() == [2, 3, 4, 5]


@pytest.mark.parametrize(("percent", "left"), [(74, 6), (76, 1)])
def test_full_disk_deletes_at_any_hour(percent: int, left: int) -> None:
    kept = filled()
    fill_disk(kept, percent)
    kept.run(2.0)
    assert len(kept.files()) == left


@pytest.mark.parametrize(
    ("percent", "forcibly", "left"), [(84, True, 6), (86, True, 1), (86, False, 6), (99, False, 6)]
)
def test_young_files_are_deleted_only_with_forced_deletion(
    percent: int, left: int, *, forcibly: bool
) -> None:
    kept = filled(hours_old=1, chosen=replace(SETTINGS, clean_file_forcibly_enable=forcibly))
    fill_disk(kept, percent)
    kept.run(2.0)
    assert len(kept.files()) == left


def test_manual_request_deletes_old_files_at_any_hour() -> None:
    kept = filled(MANUAL_ROUNDS + 2, chosen=replace(SETTINGS, delete_file_batch_max=1))
    kept.now = 0.0
    kept.retention.delete_now()
    kept.turn()
    kept.complete()
    assert kept.files()[0] == 1
    kept.run(2 * MANUAL_ROUNDS * ROUND_SECONDS)
    assert kept.files() == [MANUAL_ROUNDS, MANUAL_ROUNDS + 1]
    young = filled(hours_old=71)
    young.retention.delete_now()
    young.run(100.0)
    assert len(young.files()) == 6


def test_invalid_hours_are_refused_at_the_start() -> None:
    with pytest.raises(ConfigurationError, match="deleteWhen=four"):
        Kept(chosen=replace(SETTINGS, delete_when="four"))


# ---------------------------------------------------------------------- how much


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


# ---------------------------------------------------------------------- the full disk


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


# ---------------------------------------------------------------------- power cuts


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
