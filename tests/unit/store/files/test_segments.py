"""Tests that segments are complete, reserved ahead, and never have a gap."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest

from gantrymq.base.disk import DiskError, DiskFailure
from gantrymq.base.errors import LocalError
from gantrymq.store.files.segments import FULL_RETRY_SECONDS, STEP_BYTES, Segments, SyncFailedError
from gantrymq.store.layout import StoreRefusedError
from gantrymq.testing.faulty_disk import FaultyDisk, PowerCut
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.testing.unsynced import lose_all

SIZE = 16384


class Row:
    """A row on a disk in memory, opened, with its background."""

    def __init__(
        self, disk: MemoryDisk | None = None, size: int = SIZE, window_bytes: int = 4096
    ) -> None:
        self.disk = disk or MemoryDisk()
        self.background = MemoryBackground(self.disk)
        self.segments = Segments(
            self.disk, self.background, "log", size, "sizeKey", window_bytes=window_bytes
        )
        self.segments.load()

    def complete(self, now: float = 0.0) -> None:
        self.background.complete_all()
        for completion in self.background.take_completions():
            assert self.segments.take(completion, now)

    def files(self) -> list[tuple[int, int]]:
        return [(int(entry.name), entry.size) for entry in self.disk.list("log")]


def row_of(files: int) -> Row:
    row = Row()
    row.segments.resume(0)
    row.segments.reserve(files * SIZE, now=0.0)
    assert len(row.files()) == files
    return row


def test_new_segments_begin_at_the_given_position() -> None:
    row = Row()
    row.segments.resume(3 * SIZE + 5)
    assert (row.segments.first, row.segments.past) == (3 * SIZE, 3 * SIZE)
    row.segments.reserve(3 * SIZE + 6, now=0.0)
    assert row.files() == [(3 * SIZE, SIZE)]


def test_written_bytes_are_read_back() -> None:
    row = row_of(2)
    row.segments.write(SIZE + 10, b"abc")
    assert row.disk.open("log/00000000000000016384").read(10, 3) == b"abc"
    assert row.segments.read(SIZE + 10, 3) == b"abc"
    assert row.segments.read_cached(SIZE + 10, 3) == b"abc"
    assert row.segments.ask_read(SIZE + 10, 3) == 1
    row.background.complete_all()
    assert row.background.take_completions()[0].data == b"abc"


def test_a_read_ends_with_its_file() -> None:
    row = row_of(2)
    assert len(row.segments.read(SIZE - 3, 10)) == 3


def test_write_needs_space_and_stays_inside_its_file() -> None:
    row = row_of(1)
    with pytest.raises(AssertionError):
        row.segments.write(SIZE - 1, b"ab")
    row.segments.reserve(SIZE + 1, now=0.0)
    with pytest.raises(AssertionError):
        row.segments.write(SIZE - 1, b"ab")


def test_load_finds_the_files_and_removes_a_last_empty_file() -> None:
    row = row_of(2)
    row.disk.create("log/00000000000000032768").close()
    again = Row(row.disk)
    assert (again.segments.first, again.segments.past) == (0, 2 * SIZE)
    assert again.files() == [(0, SIZE), (SIZE, SIZE)]


def test_another_size_is_refused_with_the_key_to_set() -> None:
    row = row_of(2)
    with pytest.raises(StoreRefusedError, match="set sizeKey=16384"):
        Row(row.disk, size=4096)


def test_position_outside_is_a_defect() -> None:
    row = row_of(1)
    for position in (-1, SIZE, 5 * SIZE):
        with pytest.raises(LocalError):
            row.segments.file_of(position)
    with pytest.raises(LocalError):
        row.segments.resume(SIZE + 1)


# ---------------------------------------------------------------------- space


def test_windows_are_reserved_ahead_in_the_background() -> None:
    row = Row()
    row.segments.resume(0)
    for position in (0, 0, 1, 4096, 8192, 12288, 12289):
        row.segments.prepare(position, now=0.0)
        assert len(row.background.jobs) <= 1
        row.complete()
        assert row.segments.reserved > position
    assert row.segments.reserved == SIZE + 4096
    assert row.files() == [(0, SIZE), (SIZE, SIZE)]
    assert row.segments.inline_allocations == 0


def test_no_window_is_reserved_while_one_is_free() -> None:
    row = Row()
    row.segments.resume(0)
    row.segments.prepare(0, now=0.0)
    row.complete()
    row.segments.prepare(0, now=0.0)
    assert not row.background.jobs


def test_late_window_is_replaced_by_a_small_synchronous_step() -> None:
    row = Row(size=64 << 20, window_bytes=32 << 20)
    row.segments.resume(0)
    row.segments.prepare(0, now=0.0)
    row.segments.reserve(100, now=0.0)
    assert row.segments.reserved == STEP_BYTES
    assert row.segments.inline_allocations == 1
    row.complete()
    assert row.segments.reserved == 32 << 20


def test_full_disk_refuses_and_is_tried_again_later() -> None:
    row = row_of(1)
    row.segments.write(0, b"kept")
    row.disk.total_bytes = 0
    for _ in range(2):
        with pytest.raises(DiskError) as caught:
            row.segments.reserve(SIZE + 1, now=10.0)
        assert caught.value.failure is DiskFailure.NO_SPACE
    row.disk.total_bytes = 1 << 30
    with pytest.raises(DiskError):
        row.segments.reserve(SIZE + 1, now=10.0 + FULL_RETRY_SECONDS / 2)
    row.segments.reserve(SIZE + 1, now=10.0 + FULL_RETRY_SECONDS)
    assert row.segments.read(0, 4) == b"kept"


def test_failed_background_window_is_reserved_again_later() -> None:
    row = Row()
    row.segments.resume(0)
    row.disk.total_bytes = 0
    row.segments.prepare(0, now=0.0)
    row.complete(now=1.0)
    assert row.segments.reserved == 0
    row.segments.prepare(0, now=1.0)
    assert not row.background.jobs
    row.disk.total_bytes = 1 << 30
    row.segments.prepare(0, now=1.0 + FULL_RETRY_SECONDS)
    row.complete(now=2.0)
    assert row.segments.reserved == 4096


# ---------------------------------------------------------------------- ends


def test_oldest_file_is_removed_but_never_the_last() -> None:
    row = row_of(3)
    assert row.segments.remove_first()
    assert not row.segments.remove_first()
    assert row.segments.first == SIZE
    row.complete()
    assert row.files() == [(SIZE, SIZE), (2 * SIZE, SIZE)]
    assert row.segments.remove_first()
    row.complete()
    assert not row.segments.remove_first()
    assert row.files() == [(2 * SIZE, SIZE)]


def test_a_file_that_could_not_be_removed_is_still_the_first() -> None:
    disk = FaultyDisk()
    background = MemoryBackground(disk)
    segments = Segments(disk, background, "log", SIZE, "sizeKey")
    segments.load()
    segments.resume(0)
    segments.reserve(2 * SIZE, now=0.0)
    segments.remove_first()
    disk.fail("remove")
    background.complete_all()
    assert segments.take(background.take_completions()[0], 0.0)
    assert segments.first == 0
    assert segments.remove_first()


@pytest.mark.parametrize(
    ("position", "files"),
    [(0, 0), (1, 1), (SIZE - 1, 1), (SIZE, 1), (SIZE + 1, 2), (3 * SIZE, 3)],
)
def test_truncate_leaves_zeros_behind_the_end(position: int, files: int) -> None:
    row = row_of(3)
    for start in range(0, 3 * SIZE, SIZE):
        row.segments.write(start, b"\xff" * SIZE)
    row.segments.truncate(position)
    assert row.files() == [(start, SIZE) for start in range(0, files * SIZE, SIZE)]
    row.segments.reserve(3 * SIZE, now=0.0)
    held = b"".join(row.segments.read(start, SIZE) for start in range(0, 3 * SIZE, SIZE))
    assert held == b"\xff" * position + bytes(3 * SIZE - position)


def test_rewrite_restores_bytes_lost_by_a_failed_sync() -> None:
    disk = FaultyDisk()
    segments = Segments(disk, MemoryBackground(disk), "log", SIZE, "sizeKey")
    segments.load()
    segments.resume(0)
    segments.reserve(SIZE, now=0.0)
    segments.write(0, b"lost but still read")
    disk.fail("sync")
    with pytest.raises(DiskError):
        segments.file_of(0).sync()
    segments.file_of(0).sync()  # promises nothing
    next_process = disk.kill()
    again = Segments(next_process, MemoryBackground(next_process), "log", SIZE, "sizeKey")
    again.load()
    again.rewrite(0, 10)
    survivor = next_process.crash()
    assert survivor.open("log/00000000000000000000").read(0, 19) == b"lost but s" + bytes(9)


def test_truncation_survives_a_power_cut() -> None:
    disk = FaultyDisk()
    segments = Segments(disk, MemoryBackground(disk), "log", SIZE, "sizeKey")
    segments.load()
    segments.resume(0)
    segments.reserve(2 * SIZE, now=0.0)
    for start in (0, SIZE):
        segments.write(start, b"a" * SIZE)
    segments.rewrite(0, 2 * SIZE)
    segments.truncate(100)
    disk.choose = lose_all
    survivor = disk.crash()
    found = Segments(survivor, MemoryBackground(survivor), "log", SIZE, "sizeKey")
    found.load()
    assert found.past == SIZE
    assert found.read(0, SIZE) == b"a" * 100 + bytes(SIZE - 100)


def test_interrupted_truncation_is_completed() -> None:
    disk = FaultyDisk()
    segments = Segments(disk, MemoryBackground(disk), "log", SIZE, "sizeKey")
    segments.load()
    segments.resume(0)
    segments.reserve(SIZE, now=0.0)
    file = segments.file_of(0)
    file.resize(100)
    file.sync()
    with pytest.raises(StoreRefusedError, match="has 100 bytes"):
        segments.load()
    segments.load(is_size_known=True)
    disk.choose = lose_all
    assert [entry.size for entry in disk.crash().list("log")] == [SIZE]


def test_pending_window_does_not_survive_a_truncation() -> None:
    row = row_of(1)
    row.segments.prepare(SIZE, now=0.0)
    row.segments.truncate(100)
    row.complete()
    assert row.segments.reserved == 100


@pytest.mark.parametrize("erased", [False, True])
def test_erased_and_rewritten_bytes_are_synced(erased: bool) -> None:
    disk = FaultyDisk()
    segments = Segments(disk, MemoryBackground(disk), "log", SIZE, "sizeKey")
    segments.load()
    segments.resume(0)
    segments.reserve(2 * SIZE, now=0.0)
    segments.write(SIZE - 100, b"a" * 100)
    segments.write(SIZE, b"b" * 100)
    segments.rewrite(SIZE - 100, SIZE + 100)
    if erased:
        segments.erase(SIZE - 20, SIZE + 20)
    disk.choose = lose_all
    survivor = disk.crash()
    found = Segments(survivor, MemoryBackground(survivor), "log", SIZE, "sizeKey")
    found.load()
    zeros = 20 if erased else 0
    assert found.read(SIZE - 100, 100) == b"a" * (100 - zeros) + bytes(zeros)
    assert found.read(SIZE, 100) == bytes(zeros) + b"b" * (100 - zeros)


@pytest.mark.parametrize("operation", ["sync", "sync_folder"])
def test_a_failed_sync_is_no_refusal(operation: str) -> None:
    disk = FaultyDisk()
    segments = Segments(disk, MemoryBackground(disk), "log", SIZE, "sizeKey")
    segments.load()
    segments.resume(0)
    disk.fail(operation)
    with pytest.raises(SyncFailedError, match="this process must end"):
        segments.reserve(1, now=0.0)


def test_power_cut_leaves_segments_that_open() -> None:
    """Growing at the back, shrinking at both ends: whatever a cut keeps, it has no gap."""
    done = False
    cut = 1
    while not done:
        for seed in range(10):
            disk = FaultyDisk(random.Random(seed).randrange)
            disk.crash_at = disk.operations + cut
            try:
                _grow_and_shrink(disk)
                done = True
            except PowerCut:
                pass
            again = Segments(disk.crash(), MemoryBackground(disk), "log", SIZE, "sizeKey")
            again.load(is_size_known=True)
            for start in range(again.first, again.past, SIZE):
                assert again.file_of(start).size() == SIZE
        cut += 1
    assert cut > 20


def test_removal_by_a_killed_process_is_synced_first() -> None:
    for cut in range(1, 12):
        for seed in range(20):
            disk = FaultyDisk(random.Random(seed).randrange)
            _grow_and_shrink(disk)
            disk.remove(f"log/{disk.list('log')[-1].name}")  # and was not synced
            disk = disk.kill()
            disk.crash_at = disk.operations + cut
            segments = Segments(disk, MemoryBackground(disk), "log", SIZE, "sizeKey")
            with suppress(PowerCut):
                segments.load(is_size_known=True)
                segments.truncate(2 * SIZE + 5)
            again = Segments(disk.crash(), MemoryBackground(disk), "log", SIZE, "sizeKey")
            again.load(is_size_known=True)


def _grow_and_shrink(disk: FaultyDisk) -> None:
    background = MemoryBackground(disk)
    segments = Segments(disk, background, "log", SIZE, "sizeKey")
    segments.load()
    segments.resume(0)
    segments.reserve(7 * SIZE, now=0.0)
    for _ in range(2):
        segments.remove_first()
        background.complete_all()
        for completion in background.take_completions():
            segments.take(completion, 0.0)
    segments.truncate(2 * SIZE + 5)
    segments.reserve(5 * SIZE, now=0.0)
