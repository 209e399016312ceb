"""Tests the rounds, waiters and time limits of the flush."""

from __future__ import annotations

import pytest

from gantrymq.base.bounds import NEVER
from gantrymq.store.commitlog.commitlog import CommitLog
from gantrymq.store.commitlog.flush import SYNC_INTERVAL_SECONDS, Flusher, Released
from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.files.segments import SyncFailedError
from gantrymq.store.settings import FlushDiskType, StoreSettings
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.wire.message.record import Record

HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
FILE_BYTES = 65536


class Flushed:
    """A log with its flush."""

    def __init__(self, kind: FlushDiskType) -> None:
        settings = StoreSettings(mapped_file_size_commit_log=FILE_BYTES, flush_disk_type=kind)
        self.disk = FaultyDisk()
        self.background = MemoryBackground(self.disk)
        self.log = CommitLog(self.disk, self.background, settings)
        self.log.load()
        self.log.resume(LogPosition())
        self.flusher = Flusher(self.log, settings, now=0.0)

    def append(self, size: int = 100, now: float = 0.0) -> int:
        arena = self.log.start_group(int(now * 1000))
        arena.add(Record(b"T", bytes(size - 92), born_host=HOST, store_host=HOST))
        assert self.log.write(arena, now) is None
        return self.log.end

    @property
    def syncs(self) -> list[str]:
        return [job.path[-5:] for job in self.background.jobs if job.kind == "sync"]

    def complete(self) -> None:
        self.background.complete_all()
        for completion in self.background.take_completions():
            assert self.flusher.take(completion) or self.log.take(completion, 0.0)


@pytest.fixture
def strict() -> Flushed:
    return Flushed(FlushDiskType.SYNC_FLUSH)


@pytest.fixture
def relaxed() -> Flushed:
    return Flushed(FlushDiskType.ASYNC_FLUSH)


def test_many_waiters_share_one_sync_and_are_released_in_order(strict: Flushed) -> None:
    for number in range(5):
        strict.flusher.wait(number, strict.append(), now=0.0)
    strict.flusher.turn(now=0.0)
    assert len(strict.syncs) == 1
    assert not strict.flusher.take_released()
    strict.complete()
    assert strict.flusher.take_released() == [Released(number, True) for number in range(5)]
    assert strict.flusher.flushed.position == strict.log.end
    assert not strict.flusher.take_released()


def test_the_time_of_each_sync_is_counted(strict: Flushed) -> None:
    for began, took in ((1.0, 0.003), (2.0, 0.3)):
        strict.flusher.wait(1, strict.append(), now=began)
        strict.flusher.turn(now=began)
        strict.complete()
        strict.flusher.turn(now=began + took)
    strict.flusher.turn(now=9.0)
    seconds = strict.flusher.sync_seconds
    counted = {
        bound: count for bound, count in zip(seconds.bounds, seconds.counts, strict=False) if count
    }
    assert counted == {0.005: 1, 0.5: 1}
    assert seconds.total == pytest.approx(0.303)


def test_waiter_that_joins_during_a_sync_waits_for_the_next_one(strict: Flushed) -> None:
    strict.flusher.wait(1, strict.append(), now=0.0)
    strict.flusher.turn(now=0.0)
    strict.flusher.wait(2, strict.append(), now=0.0)
    strict.flusher.wait(3, strict.append(), now=0.0)
    strict.flusher.turn(now=0.0)
    assert len(strict.syncs) == 1
    strict.complete()
    assert strict.flusher.take_released() == [Released(1, True)]
    strict.flusher.turn(now=0.0)
    strict.complete()
    assert strict.flusher.take_released() == [Released(2, True), Released(3, True)]


def test_one_round_is_under_way_at_a_time(strict: Flushed) -> None:
    strict.flusher.wait(1, strict.append(), now=0.0)
    strict.flusher.start(now=0.0)
    strict.flusher.wait(2, strict.append(), now=0.0)
    strict.flusher.start(now=0.0)
    assert len(strict.syncs) == 1
    strict.complete()
    assert strict.flusher.take_released() == [Released(1, True)]
    assert strict.flusher.flushed.position == 100


def test_waiter_for_synced_bytes_is_answered_at_once(strict: Flushed) -> None:
    end = strict.append()
    strict.flusher.start(now=0.0)
    strict.complete()
    strict.flusher.wait(9, end, now=0.0)
    assert strict.flusher.take_released() == [Released(9, True)]


def test_a_round_over_two_files_ends_with_the_later_sync(strict: Flushed) -> None:
    strict.append(60000)
    strict.flusher.wait(1, strict.append(60000), now=0.0)
    strict.flusher.turn(now=0.0)
    assert strict.syncs == ["00000", "65536"]
    for job in [job for job in strict.background.jobs if job.kind == "sync"][::-1]:
        assert not strict.flusher.take_released()
        strict.background.complete(job.ticket)
        assert strict.flusher.take(strict.background.take_completions()[0])
    assert strict.flusher.take_released() == [Released(1, True)]


def test_slow_sync_is_answered_late_and_still_advances(strict: Flushed) -> None:
    strict.flusher.wait(1, strict.append(), now=0.0)
    strict.flusher.turn(now=0.0)
    strict.flusher.wait(2, strict.append(), now=1.0)
    assert strict.flusher.deadline() == 5.0
    strict.flusher.turn(now=5.0)
    assert strict.flusher.take_released() == [Released(1, False)]
    assert strict.flusher.deadline() == 6.0
    strict.complete()
    assert not strict.flusher.take_released()
    assert strict.flusher.flushed.position == 100


def test_bytes_without_a_waiter_are_synced_soon(strict: Flushed) -> None:
    strict.append()
    strict.flusher.turn(now=0.0)
    assert not strict.syncs
    assert strict.flusher.deadline() == SYNC_INTERVAL_SECONDS
    strict.flusher.turn(now=SYNC_INTERVAL_SECONDS)
    assert len(strict.syncs) == 1


def test_a_failed_sync_is_final(strict: Flushed) -> None:
    strict.flusher.wait(1, strict.append(), now=0.0)
    strict.flusher.turn(now=0.0)
    strict.disk.fail("sync")
    strict.background.complete_all()
    mine = [each for each in strict.background.take_completions() if each.error is not None]
    with pytest.raises(SyncFailedError, match=r"sync commitlog/0.*this process must end"):
        strict.flusher.take(mine[0])
    for call in (strict.flusher.turn, strict.flusher.start):
        with pytest.raises(SyncFailedError):
            call(99.0)
    with pytest.raises(SyncFailedError):
        strict.flusher.wait(2, 1, 99.0)
    assert not strict.flusher.take_released()
    assert strict.flusher.flushed.position == 0


def test_successful_sync_beside_a_failed_one_releases_no_waiter(strict: Flushed) -> None:
    strict.append(60000)
    strict.flusher.wait(1, strict.append(60000), now=0.0)
    strict.flusher.turn(now=0.0)
    strict.disk.fail("sync")
    strict.background.complete_all()
    for completion in strict.background.take_completions():
        if completion.ticket in strict.flusher._tickets:
            with pytest.raises(SyncFailedError):
                strict.flusher.take(completion)
    assert not strict.flusher.take_released()


def test_asynchronous_flush_waits_for_pages_and_time(relaxed: Flushed) -> None:
    assert relaxed.flusher.deadline() == NEVER
    relaxed.append(4 * 4096 - 1)
    relaxed.flusher.turn(now=0.6)
    assert not relaxed.syncs
    assert relaxed.flusher.deadline() == 10.0
    relaxed.append(100)
    assert relaxed.flusher.deadline() == 0.5
    relaxed.flusher.turn(now=0.4)
    assert not relaxed.syncs
    relaxed.flusher.turn(now=0.5)
    assert len(relaxed.syncs) == 1


def test_asynchronous_flush_takes_few_bytes_after_the_thorough_interval(relaxed: Flushed) -> None:
    relaxed.append()
    relaxed.flusher.turn(now=9.9)
    assert not relaxed.syncs
    relaxed.flusher.turn(now=10.0)
    relaxed.complete()
    relaxed.append(now=10.0)
    relaxed.flusher.turn(now=19.9)
    assert not relaxed.syncs
    relaxed.flusher.turn(now=20.0)
    assert relaxed.syncs


def test_flush_position_is_the_end_of_a_record(relaxed: Flushed) -> None:
    relaxed.append(100, now=1.0)
    relaxed.flusher.start(now=1.0)
    relaxed.append(100, now=2.0)
    relaxed.complete()
    mark = relaxed.flusher.flushed
    assert (mark.position, mark.store_timestamp_ms) == (100, 1000)


def test_everything_is_synced_after_a_truncation(relaxed: Flushed) -> None:
    relaxed.append()
    relaxed.append()
    relaxed.log.truncate(LogPosition(100))
    relaxed.flusher.restart()
    assert relaxed.flusher.flushed.position == 100
    assert relaxed.flusher.deadline() == NEVER
