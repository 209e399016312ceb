"""Tests reads of log and queue bytes, from memory and from disk."""

from __future__ import annotations

import pytest

from gantrymq.base.disk import DiskError, DiskFailure
from gantrymq.store.commitlog.commitlog import CommitLog
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.read.async_reader import Wanted, run
from gantrymq.store.read.readable_store import log_bytes, queue_units, readable_end, unit_position
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.message.record import Record

HOST = bytes(8)
FILE_BYTES = 4096


def made_log(disk: MemoryDisk, count: int, *, tail_bytes: int = 0) -> CommitLog:
    """A log with records of 1000 bytes, four in each file."""
    settings = StoreSettings(mapped_file_size_commit_log=FILE_BYTES)
    log = CommitLog(disk, MemoryBackground(disk), settings, tail_bytes=tail_bytes)
    log.load()
    log.resume(LogPosition())
    arena = log.start_group(1)
    for _ in range(count):
        arena.add(Record(b"T", b"x" * 908, born_host=HOST, store_host=HOST))
    assert log.write(arena, 0.0) is None
    return log


@pytest.mark.parametrize(("tail_bytes", "is_cold"), [(1 << 20, False), (0, False), (0, True)])
def test_read_stops_at_the_end_of_the_log(tail_bytes: int, *, is_cold: bool) -> None:
    disk = MemoryDisk()
    log = made_log(disk, 6, tail_bytes=tail_bytes)
    disk.reads_cached = not is_cold
    sizes = {
        (0, 10): 10,
        (4000, 5000): 96,
        (FILE_BYTES, 9999): 2000,
        (log.end - 1, 2): 1,
        (log.end, 1): 0,
        (-1, 10): 0,
        (5, 0): 0,
        (5, -1): 0,
    }
    for (position, size), expected in sizes.items():
        assert len(run(log_bytes(log, position, size))) == expected


def test_file_deleted_during_the_read_has_no_bytes() -> None:
    disk = MemoryDisk()
    log = made_log(disk, 6)
    disk.reads_cached = False
    reading = log_bytes(log, 0, 100)
    wanted = next(reading)
    assert isinstance(wanted, Wanted)
    assert log.remove_first()
    with pytest.raises(DiskError, match="no such file") as gone:
        wanted.file()
    with pytest.raises(StopIteration) as ended:
        reading.throw(gone.value)
    assert ended.value.value == b""


@pytest.mark.parametrize("is_gone", [True, False])
def test_unit_of_a_file_deleted_during_the_read_is_none(*, is_gone: bool) -> None:
    disk = MemoryDisk()
    queues = Queues(disk, 200)
    queues.load(0)
    for offset in range(25):
        queues.append("T", 0, offset, offset * 100, 100, 0)
    queues.sync_all()
    queue = queues.find("T", 0)
    assert queue is not None
    disk.reads_cached = False
    reading = unit_position(queue, 3)
    wanted = next(reading)
    assert isinstance(wanted, Wanted)
    if is_gone:
        queues.raise_minimum(1000)
        disk.remove(queues.expired_file(queue))
    else:
        queues.close()
        disk.remove(f"consumequeue/T/0/{0:020d}")
    with pytest.raises(DiskError, match="no such file") as gone:
        wanted.file()
    with pytest.raises(StopIteration if is_gone else DiskError) as ended:
        reading.throw(gone.value)
    if isinstance(ended.value, StopIteration):
        assert ended.value.value == -1


def test_disk_failure_is_an_error() -> None:
    disk = MemoryDisk()
    log = made_log(disk, 6)
    disk.reads_cached = False
    reading = log_bytes(log, 0, 100)
    next(reading)
    with pytest.raises(DiskError, match="input/output"):
        reading.throw(DiskError(DiskFailure.BROKEN, "read", "commitlog"))


@pytest.mark.parametrize("is_cold", [False, True])
def test_read_stops_at_the_end_of_the_queue(*, is_cold: bool) -> None:
    disk = MemoryDisk()
    queues = Queues(disk, 200)
    queues.load(0)
    for offset in range(25):
        queues.append("T", 0, offset, offset * 100, 100, 0)
    queue = queues.find("T", 0)
    assert queue is not None
    queues.write(queue)
    queues.append("T", 0, 25, 2500, 100, 0)  # not in a file yet
    disk.reads_cached = not is_cold
    for offset, count, expected in ((0, 3, 3), (7, 9, 3), (19, 50, 1), (26, 1, 0), (-1, 1, 0)):
        assert len(run(queue_units(queue, offset, count))) == expected * 20
    assert len(run(queue_units(queue, 20, 50))) == (5 if is_cold else 6) * 20
    positions = [run(unit_position(queue, offset)) for offset in (-1, 0, 24, 25, 26)]
    assert positions == [-1, 0, 2400, 2500, -1]
    for end in range(27):
        assert run(readable_end(queue, end * 100)) == min(end, 26)
        assert run(readable_end(queue, end * 100 + 1)) == min(end + 1, 26)
