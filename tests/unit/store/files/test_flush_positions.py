"""Tests that the flush positions are true whenever they are read."""

from __future__ import annotations

import contextlib
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.disk import DiskError
from gantrymq.store.files.flush_positions import (
    INTERVAL_BYTES,
    INTERVAL_SECONDS,
    SLOT_BYTES,
    SYNC_SECONDS,
    FlushPositions,
    FlushPositionsFile,
    LogPosition,
    Slot,
    decode_slot,
    encode_slot,
)
from gantrymq.store.files.segments import SyncFailedError
from gantrymq.testing.faulty_disk import FaultyDisk, PowerCut
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.unsynced import lose_all

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
EXAMPLE = """
    47464d31 d5e02ba3 0000000000000001 0000000000000077 0000000000000000 0000018bcfe5687b
    0000000000000077 0000000000000000 0000000000000004
    0000000000000000 0000000040000000 00000000005b8d80
"""
SIZE = 1 << 30
QUEUE_SIZE = 6_000_000


def positions(position: int, stamp: int = 0) -> FlushPositions:
    return FlushPositions(LogPosition(position, 0, stamp))


def opened(disk: FaultyDisk, background: MemoryBackground | None = None) -> FlushPositionsFile:
    return FlushPositionsFile(disk, background or MemoryBackground(disk), SIZE, QUEUE_SIZE)


def complete(background: MemoryBackground, file: FlushPositionsFile) -> None:
    background.complete_all()
    for completion in background.take_completions():
        assert file.take(completion)


def test_slot_has_the_documented_bytes() -> None:
    data = bytes.fromhex(EXAMPLE)
    slot = Slot(
        1, FlushPositions(LogPosition(0x77, 0, 1700000000123), 0x77, 0, 4), SIZE, QUEUE_SIZE
    )
    assert decode_slot(data) == slot
    assert encode_slot(slot) == data


@given(st.lists(INT64, min_size=10, max_size=10))
def test_encoded_slot_is_decoded(numbers: list[int]) -> None:
    slot = Slot(
        numbers[0],
        FlushPositions(LogPosition(*numbers[1:4]), *numbers[4:8]),
        numbers[8],
        numbers[9],
    )
    assert decode_slot(encode_slot(slot)) == slot


def test_damaged_or_short_slot_is_ignored() -> None:
    data = encode_slot(Slot(7, positions(1 << 40, 1700000000123), SIZE, QUEUE_SIZE))
    for at in range(len(data)):
        assert decode_slot(data[:at]) is None
        for bit in range(8):
            damaged = data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]
            assert decode_slot(damaged) is None
    assert decode_slot(bytes(SLOT_BYTES)) is None


def test_new_store_has_no_flush_positions() -> None:
    assert opened(FaultyDisk()).latest is None


def test_positions_are_written_at_intervals() -> None:
    disk = FaultyDisk()
    background = MemoryBackground(disk)
    file = opened(disk, background)
    file.advance(positions(100, 1), now=10.0)
    complete(background, file)
    file.advance(positions(200, 2), now=10.0 + INTERVAL_SECONDS / 2)
    assert opened(disk).latest == positions(100, 1)
    file.advance(positions(300, 3), now=10.0 + INTERVAL_SECONDS)
    assert opened(disk).latest == positions(300, 3)
    file.advance(positions(300 + INTERVAL_BYTES, 4), now=10.0 + INTERVAL_SECONDS)
    assert opened(disk).latest == positions(300 + INTERVAL_BYTES, 4)


def test_advance_never_lowers_the_positions() -> None:
    disk = FaultyDisk()
    file = opened(disk)
    file.advance(positions(100, 1), now=10.0)
    file.advance(positions(50, 1), now=99.0)
    assert opened(disk).latest == positions(100, 1)


def test_positions_are_synced_in_the_background_at_intervals() -> None:
    disk = FaultyDisk()
    background = MemoryBackground(disk)
    file = opened(disk, background)
    file.advance(positions(1, 1), now=0.0)
    assert len(background.jobs) == 1
    assert file.synced != positions(1, 1)
    background.complete_all()
    (completion,) = background.take_completions()
    assert file.take(completion)
    assert not file.take(completion)
    assert file.synced == positions(1, 1)
    file.advance(positions(2, 2), now=SYNC_SECONDS / 2)
    assert not background.jobs
    file.advance(positions(2, 2), now=SYNC_SECONDS)
    assert len(background.jobs) == 1


def test_slot_is_not_overwritten_during_its_sync() -> None:
    disk = FaultyDisk()
    background = MemoryBackground(disk)
    file = opened(disk, background)
    file.advance(positions(1, 1), now=0.0)
    file.advance(positions(2 + INTERVAL_BYTES, 2), now=99.0)
    assert len(background.jobs) == 1
    assert opened(disk).latest == positions(1, 1)
    complete(background, file)
    file.advance(positions(3, 3), now=99.0)
    assert opened(disk).latest == positions(3, 3)


def test_after_a_failed_sync_no_position_counts_as_synced() -> None:
    disk = FaultyDisk()
    background = MemoryBackground(disk)
    file = opened(disk, background)
    disk.fail("sync")
    file.advance(positions(1, 1), now=0.0)
    background.complete_all()
    (completion,) = background.take_completions()
    assert file.take(completion)
    file.advance(positions(2, 2), now=100.0)
    assert not background.jobs
    assert file.synced is None


class Lives:
    """Processes that write flush positions to a failing disk; each ends by a kill or a power
    cut."""

    def __init__(self, seed: int) -> None:
        self.choose = Random(seed).randrange
        self.disk = FaultyDisk(self.choose)
        self.settled = self.highest = 100
        opened(self.disk).settle(positions(100))

    def live(self) -> None:
        """One life from a start to an end of any kind."""
        background = MemoryBackground(self.disk)
        file = opened(self.disk, background)
        found = file.latest
        assert found is not None
        assert self.settled <= found.log.position <= self.highest
        self.disk.crash_at = self.disk.operations + 1 + self.choose(25)
        with contextlib.suppress(PowerCut, SyncFailedError, DiskError):
            self.settle(file, found.log.position)
            self.go_on(file, background)
        self.disk = self.disk.kill() if self.choose(2) else self.disk.crash()

    def go_on(self, file: FlushPositionsFile, background: MemoryBackground) -> None:
        for number in range(self.choose(15)):
            if not self.choose(8):
                self.disk.fail(("write", "sync")[self.choose(2)])
            self.highest += 1
            file.advance(positions(self.highest), number * INTERVAL_SECONDS)
            if self.choose(3):
                complete(background, file)
        complete(background, file)
        if not self.choose(3):
            self.settle(file, self.settled + self.choose(3))

    def settle(self, file: FlushPositionsFile, position: int) -> None:
        """Settle higher or lower positions; until that ends, both are valid."""
        self.settled, self.highest = min(self.settled, position), max(self.highest, position)
        file.settle(positions(position))
        self.settled = self.highest = position


def test_lowered_positions_do_not_rise_again_after_a_start() -> None:
    for seed in range(300):
        lives = Lives(seed)
        for _ in range(8):
            lives.live()


def test_slot_that_was_read_is_synced_before_the_other_is_written() -> None:
    disk = FaultyDisk(lose_all)
    opened(disk).settle(positions(1))
    background = MemoryBackground(disk)
    file = opened(disk, background)
    file.settle(positions(2))
    file.advance(positions(3), now=0.0)  # and it is killed before this is synced
    disk = disk.kill()
    file = opened(disk)
    assert file.latest == positions(3)
    disk.crash_at = disk.operations + 3  # written, synced, and the next one written
    with contextlib.suppress(PowerCut):
        file.settle(positions(4))
    assert opened(disk.crash()).latest == positions(3)


def test_failed_sync_of_settle_ends_the_process() -> None:
    disk = FaultyDisk()
    file = opened(disk)
    disk.fail("sync")
    with pytest.raises(SyncFailedError):
        file.settle(positions(1, 1))


def test_failed_write_leaves_the_synced_positions() -> None:
    disk = FaultyDisk(lambda count: count // 2)
    background = MemoryBackground(disk)
    file = opened(disk, background)
    file.settle(positions(100, 1))
    for now in (10.0, 20.0):
        disk.fail("write")
        assert file.advance(positions(200, 2), now) is not None
        assert file.latest == opened(disk).latest == positions(100, 1)
        assert not file.is_syncing
    assert file.advance(positions(200, 2), 30.0) is None
    complete(background, file)
    assert opened(disk).latest == positions(200, 2)


def test_slot_torn_by_a_refused_write_is_ignored() -> None:
    disk = FaultyDisk(lambda count: count // 8)
    background = MemoryBackground(disk)
    file = opened(disk, background)
    file.settle(positions(100, 1))
    file.advance(positions(200, 2), now=0.0)
    complete(background, file)
    file.advance(positions(300, 3), now=INTERVAL_SECONDS)
    disk.fail("write")
    file.advance(positions(400, 4), now=SYNC_SECONDS - INTERVAL_SECONDS / 2)
    file.advance(positions(400, 4), now=SYNC_SECONDS)
    assert not background.jobs
    assert file.latest == file.synced == opened(disk).latest == positions(200, 2)


def test_file_sizes_are_known_after_the_first_write() -> None:
    disk = FaultyDisk()
    file = opened(disk)
    assert not file.are_sizes_known
    file.settle(positions(0, 0))
    assert opened(disk).are_sizes_known
    assert not FlushPositionsFile(
        disk, MemoryBackground(disk), SIZE * 2, QUEUE_SIZE
    ).are_sizes_known
