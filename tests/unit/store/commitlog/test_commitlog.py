"""Tests that groups are written completely or not at all, and never change."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from gantrymq.base.disk import DiskFailure
from gantrymq.base.errors import LocalError
from gantrymq.store.commitlog.commitlog import CommitLog
from gantrymq.store.commitlog.log_blocks import LOOKS_MIN
from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.files.segments import FULL_RETRY_SECONDS, SyncFailedError
from gantrymq.store.record.put_status import PutStatus, Refused
from gantrymq.store.record.walk import Found, LogItem, walk
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.message.record import Record

VECTORS = Path(__file__).parents[3] / "vectors"
HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
FILE_BYTES = 4096
SETTINGS = StoreSettings(mapped_file_size_commit_log=FILE_BYTES, store_path_root_dir="/data/store")


class Opened:
    """A log on a disk that breaks on request."""

    def __init__(self, disk: FaultyDisk | None = None, tail_bytes: int = 0) -> None:
        self.disk = disk or FaultyDisk()
        self.background = MemoryBackground(self.disk)
        self.log = CommitLog(self.disk, self.background, SETTINGS, tail_bytes=tail_bytes)
        self.log.load()
        self.log.resume(LogPosition())

    def append(self, *sizes: int, now_ms: int = 1, now: float = 0.0) -> Refused | None:
        arena = self.log.start_group(now_ms)
        for number, size in enumerate(sizes):
            arena.add(message(size, number))
        return self.log.write(arena, now)

    def bodies(self) -> list[bytes]:
        """The bodies that a walk over the files finds, regardless of the log's end."""
        segments = self.log.segments
        found: list[bytes] = []
        for start in range(segments.first, segments.past, FILE_BYTES):
            items = list(walk(segments.read(start, FILE_BYTES), start, FILE_BYTES))
            found += [item.record.body for item in items if item.record is not None]
            if items[-1].found is not Found.BLANK:
                break
        return found


def message(size: int, fill: int = 0) -> Record:
    return Record(b"T", bytes([fill]) * (size - 92), born_host=HOST, store_host=HOST)


def test_a_group_is_read_back_where_its_records_say() -> None:
    opened = Opened()
    arena = opened.log.start_group(77)
    messages = [message(100), message(200)]
    for each in messages:
        arena.add(each)
    assert opened.log.end == 0
    assert opened.log.write(arena, 0.0) is None
    assert opened.log.end == 300
    data = opened.log.read(0, 300)
    assert data is not None
    assert [item.record for item in walk(data, 0, FILE_BYTES)] == messages
    assert {each.store_timestamp_ms for each in messages} == {77}


@pytest.mark.parametrize("store", ["4.9.8-crashed", "5.3.3-clean", "5.3.3-crashed"])
def test_log_of_java_is_opened_and_continued(store: str) -> None:
    disk = MemoryDisk()
    disk.make_folder("commitlog")
    with tarfile.open(VECTORS / f"store-{store}.tar.gz") as archive:
        for name in (name for name in archive.getnames() if "/commitlog/0" in name):
            data = (archive.extractfile(name) or io.BytesIO()).read()
            disk.create(f"commitlog/{name[-20:]}").write(0, [data])
    log = CommitLog(disk, MemoryBackground(disk), StoreSettings(mapped_file_size_commit_log=65536))
    log.load()
    segments = log.segments
    items: list[LogItem] = []
    position = 0
    while not items or items[-1].found is Found.BLANK:
        items += walk(segments.read(position, 65536), position, 65536, flushed=0)
        position += 65536
    last = items[-2].record
    assert last is not None
    segments.truncate(items[-1].position)
    log.resume(LogPosition(items[-1].position, last.physical_offset, last.store_timestamp_ms))
    arena = log.start_group(0)
    arena.add(last)
    assert log.write(arena, 0.0) is None
    assert last.physical_offset == items[-1].position
    (again,) = walk(log.read(last.physical_offset, 9999) or b"", last.physical_offset, 65536)
    assert again.record == last


def test_store_timestamps_never_decrease() -> None:
    opened = Opened()
    opened.append(100, now_ms=50)
    assert opened.log.start_group(49).store_timestamp_ms == 50
    opened.append(100, now_ms=49)
    assert opened.log.store_timestamp_ms == 50


def test_a_group_over_several_files() -> None:
    opened = Opened()
    assert opened.append(*[1500] * 7) is None
    assert opened.log.end == 3 * FILE_BYTES + 1500
    assert opened.bodies() == [bytes([number]) * 1408 for number in range(7)]


def test_outdated_arena_is_a_defect() -> None:
    opened = Opened()
    old = opened.log.start_group(1)
    opened.append(100)
    with pytest.raises(LocalError, match="the log ends at 100"):
        opened.log.write(old, 0.0)


@pytest.mark.parametrize("group", [(200,), (1500, 1500, 1500), (4000, 4000, 4000)])
@pytest.mark.parametrize("operation", ["write", "allocate", "create", "resize"])
@pytest.mark.parametrize("skipped", [0, 1, 2])
def test_a_failure_at_any_operation_stores_nothing_of_the_group(
    group: tuple[int, ...], operation: str, skipped: int
) -> None:
    opened = Opened(FaultyDisk(lambda count: count // 2))
    opened.append(300)
    for number in range(skipped):
        opened.disk.fail(operation, path=f"commitlog/{number * FILE_BYTES:020d}")
    opened.disk.fail(operation, path=f"commitlog/{skipped * FILE_BYTES:020d}")
    refusals = 0
    now = 0.0
    while (refused := opened.append(*group, now=now)) is not None:
        assert refused.status is PutStatus.SERVICE_NOT_AVAILABLE
        assert opened.log.end == 300
        refusals += 1
        now += 1
    assert refusals <= skipped + 1
    assert opened.bodies()[1:] == [
        bytes([number]) * (size - 92) for number, size in enumerate(group)
    ]


def test_refused_messages_do_not_come_back_behind_accepted_ones() -> None:
    opened = Opened(FaultyDisk(lambda count: count - 1))
    opened.append(100)
    opened.disk.fail("write")  # after all bytes but for the last
    assert opened.append(200, 200, 200) is not None
    assert len(opened.bodies()) >= 3
    assert opened.append(200) is None
    assert len(opened.bodies()) == 2


def test_a_clean_stop_erases_what_a_failed_group_left() -> None:
    opened = Opened(FaultyDisk(lambda count: count - 1))
    opened.disk.fail("write")
    opened.append(200, 200)
    assert opened.bodies()
    opened.log.tidy()
    assert not opened.bodies()


def test_an_erasure_that_is_not_synced_ends_the_process() -> None:
    opened = Opened(FaultyDisk(lambda count: count - 1))
    opened.disk.fail("write")
    opened.append(200, 200)
    opened.disk.fail("sync")
    with pytest.raises(SyncFailedError):
        opened.append(200)


def test_full_disk_refuses_with_figures_and_writes_resume() -> None:
    opened = Opened()
    opened.append(4000)
    opened.background.complete_all()
    for completion in opened.background.take_completions():
        assert opened.log.take(completion, 0.0)
    opened.disk.memory.total_bytes = 8192
    assert opened.append(4000) is None  # its space was reserved ahead
    refused = opened.append(4000)
    assert refused is not None
    assert refused.status is PutStatus.SERVICE_NOT_AVAILABLE
    assert (
        "8192 of 8192 bytes are used, 0 are free, and /data/store/commitlog needs 4096 more"
        in refused.text
    )
    assert opened.log.read(0, 4000) is not None
    opened.disk.memory.total_bytes = 1 << 20
    assert opened.append(4000, now=FULL_RETRY_SECONDS) is None


def test_reads_end_with_the_file_and_the_log() -> None:
    opened = Opened()
    opened.append(3000, 3000)
    assert opened.log.end == FILE_BYTES + 3000
    assert len(opened.log.read(0, 9999) or b"") == FILE_BYTES
    assert len(opened.log.read(FILE_BYTES, 9999) or b"") == 3000
    for position in (-1, opened.log.end):
        with pytest.raises(LocalError, match="not in the log"):
            opened.log.read(position, 1)


@pytest.mark.parametrize("tail_bytes", [0, 2000, 1 << 20])
def test_cold_bytes_are_read_in_the_background(tail_bytes: int) -> None:
    opened = Opened(tail_bytes=tail_bytes)
    opened.append(1000, 1000, 1000)
    opened.disk.memory.reads_cached = False
    assert (opened.log.read(0, 1000) is None) == (tail_bytes < 3000)
    assert (opened.log.read(2000, 1000) is None) == (tail_bytes == 0)
    ticket = opened.log.ask_read(0, 1000)
    opened.background.complete(ticket)
    (completion,) = opened.background.take_completions()
    assert len(completion.data) == 1000
    assert not opened.log.take(completion, 0.0)


@pytest.mark.parametrize(("tail_bytes", "recent"), [(0, 3500), (2000, 1500), (1 << 20, 0)])
def test_recent_bytes_are_in_memory(tail_bytes: int, recent: int) -> None:
    opened = Opened(tail_bytes=tail_bytes)
    assert opened.log.recent == 0
    opened.append(1000, 1000, 1500)
    opened.disk.memory.reads_cached = False
    assert opened.log.recent == recent
    for position in (0, recent - 1, recent, 3499):
        if opened.log.holds(position):
            assert (opened.log.read(position, 9999) is not None) == (position >= recent)
    opened.log.truncate(LogPosition(1000, 0, 1))
    assert opened.log.recent == 1000


def test_block_is_cached_after_enough_looks_until_a_truncation() -> None:
    opened = Opened()
    opened.log._blocks.block_bytes = 1500
    opened.append(1000, 1000, 1000)
    looks = [opened.log.block(1600) for _ in range(LOOKS_MIN)]
    assert looks == [None] * (LOOKS_MIN - 1) + [opened.log.read(1500, 1500)]
    opened.disk.memory.reads_cached = False
    assert opened.log.block(2999) == looks[-1]
    assert opened.log.block(3000) is None
    opened.disk.memory.reads_cached = True
    opened.log.truncate(LogPosition(1000, 0, 1))
    assert opened.log.block(2999) is None
    opened.append(2500)
    for _ in range(LOOKS_MIN - 1):
        assert opened.log.block(2999) is None
    assert opened.log.block(2999) == opened.log.read(1500, 1500) != looks[-1]


@pytest.mark.parametrize("position", [1999, 4000, FILE_BYTES + 900])
def test_incomplete_blocks_are_not_cached(position: int) -> None:
    opened = Opened()
    opened.log._blocks.block_bytes = 1000
    opened.append(1900)
    if position > 2000:
        opened.append(2100, 950)
        assert opened.log.end == FILE_BYTES + 950
    for _ in range(2 * LOOKS_MIN):
        assert opened.log.block(position) is None


def test_block_that_cannot_be_read_is_tried_again_after_as_many_looks() -> None:
    opened = Opened()
    opened.log._blocks.block_bytes = 1000
    opened.append(2000)
    opened.disk.memory.reads_cached = False
    for _ in range(LOOKS_MIN):
        assert opened.log.block(0) is None
    opened.disk.memory.reads_cached = True
    for _ in range(LOOKS_MIN - 1):
        assert opened.log.block(0) is None
    assert opened.log.block(0) == opened.log.read(0, 1000)
    assert opened.log.remove_first() is False


def test_block_of_a_deleted_file_is_none() -> None:
    opened = Opened()
    opened.log._blocks.block_bytes = 1000
    opened.append(3000, 3000)
    looks = [opened.log.block(0) for _ in range(LOOKS_MIN)]
    assert looks[-1] is not None
    assert opened.log.remove_first()
    assert opened.log.block(0) is None


def test_truncated_log_continues_from_its_new_end() -> None:
    opened = Opened(tail_bytes=1 << 20)
    opened.append(3000, 3000, 3000)
    opened.log.truncate(LogPosition(3000, 2900, 5))
    assert (opened.log.end, opened.log.store_timestamp_ms) == (3000, 5)
    assert len(opened.bodies()) == 1
    assert opened.append(500) is None
    assert len(opened.log.read(3000, 500) or b"") == 500
    with pytest.raises(LocalError):
        opened.log.truncate(LogPosition(opened.log.end + 1, 0, 5))


def test_oldest_file_is_deleted_unless_it_is_written_to() -> None:
    opened = Opened()
    opened.append(3000)
    assert not opened.log.remove_first()
    opened.append(3000)
    assert opened.log.remove_first()
    assert opened.log.start == FILE_BYTES
    assert not opened.log.holds(0)


def test_a_full_disk_in_the_background_is_no_error_yet() -> None:
    opened = Opened()
    opened.append(100)
    opened.disk.fail("allocate", DiskFailure.NO_SPACE)
    opened.background.complete_all()
    for completion in opened.background.take_completions():
        assert opened.log.take(completion, 0.0)
    assert opened.append(100) is None
