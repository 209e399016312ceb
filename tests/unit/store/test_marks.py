"""The mark is true wherever it is read from, and one of two slots always is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.store.marks import (
    INTERVAL_BYTES,
    INTERVAL_SECONDS,
    SLOT_BYTES,
    SYNC_SECONDS,
    LogMark,
    Marks,
    MarksFile,
    Slot,
    decode_slot,
    encode_slot,
)
from gantrymq.store.segments import SyncFailedError
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_background import MemoryBackground

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
EXAMPLE = """
    47464d31 d5e02ba3 0000000000000001 0000000000000077 0000000000000000 0000018bcfe5687b
    0000000000000077 0000000000000000 0000000000000004
    0000000000000000 0000000040000000 00000000005b8d80
"""
SIZE = 1 << 30
QUEUE_SIZE = 6_000_000


def marks(position: int, stamp: int = 0) -> Marks:
    return Marks(LogMark(position, 0, stamp))


def opened(disk: FaultyDisk) -> MarksFile:
    return MarksFile(disk, MemoryBackground(disk), SIZE, QUEUE_SIZE)


def test_the_documented_example() -> None:
    data = bytes.fromhex(EXAMPLE)
    slot = Slot(1, Marks(LogMark(0x77, 0, 1700000000123), 0x77, 0, 4), SIZE, QUEUE_SIZE)
    assert decode_slot(data) == slot
    assert encode_slot(slot) == data


@given(st.lists(INT64, min_size=10, max_size=10))
def test_slots_come_back(numbers: list[int]) -> None:
    slot = Slot(numbers[0], Marks(LogMark(*numbers[1:4]), *numbers[4:8]), numbers[8], numbers[9])
    assert decode_slot(encode_slot(slot)) == slot


def test_no_damaged_or_short_slot_is_believed() -> None:
    data = encode_slot(Slot(7, marks(1 << 40, 1700000000123), SIZE, QUEUE_SIZE))
    for at in range(len(data)):
        assert decode_slot(data[:at]) is None
        for bit in range(8):
            damaged = data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]
            assert decode_slot(damaged) is None
    assert decode_slot(bytes(SLOT_BYTES)) is None


def test_a_new_store_has_no_mark() -> None:
    assert opened(FaultyDisk()).marks is None


def test_it_is_written_now_and_then() -> None:
    disk = FaultyDisk()
    file = opened(disk)
    file.advance(marks(100, 1), now=10.0)
    file.advance(marks(200, 2), now=10.0 + INTERVAL_SECONDS / 2)
    assert opened(disk).marks == marks(100, 1)
    file.advance(marks(300, 3), now=10.0 + INTERVAL_SECONDS)
    assert opened(disk).marks == marks(300, 3)
    file.advance(marks(300 + INTERVAL_BYTES, 4), now=10.0 + INTERVAL_SECONDS)
    assert opened(disk).marks == marks(300 + INTERVAL_BYTES, 4)


def test_it_never_goes_down_by_itself() -> None:
    disk = FaultyDisk()
    file = opened(disk)
    file.advance(marks(100, 1), now=10.0)
    file.advance(marks(50, 1), now=99.0)
    assert opened(disk).marks == marks(100, 1)


def test_marks_are_synced_in_the_background_now_and_then_and_safe_afterwards() -> None:
    disk = FaultyDisk()
    background = MemoryBackground(disk)
    file = MarksFile(disk, background, SIZE, QUEUE_SIZE)
    file.advance(marks(1, 1), now=0.0)
    for number in range(2, 100):
        file.advance(marks(number, number), now=number * INTERVAL_SECONDS)
    assert len(background.jobs) == 1  # never two at once
    assert file.safe != marks(1, 1)
    background.complete_all()
    (completion,) = background.take_completions()
    assert file.take(completion)
    assert not file.take(completion)
    assert file.safe == marks(1, 1)
    file.advance(marks(99, 99), now=100.0 + SYNC_SECONDS)
    assert len(background.jobs) == 1


def test_after_a_failed_sync_nothing_more_is_called_safe() -> None:
    disk = FaultyDisk()
    background = MemoryBackground(disk)
    file = MarksFile(disk, background, SIZE, QUEUE_SIZE)
    disk.fail("sync")
    file.advance(marks(1, 1), now=0.0)
    background.complete_all()
    (completion,) = background.take_completions()
    assert file.take(completion)
    file.advance(marks(2, 2), now=100.0)
    assert not background.jobs
    assert file.safe is None


@given(
    positions=st.lists(st.integers(1, 1000), min_size=1, max_size=8),
    choices=st.lists(st.integers(0, 50), min_size=1, max_size=30),
)
def test_a_power_cut_leaves_an_earlier_mark_or_none(
    positions: list[int], choices: list[int]
) -> None:
    position = 0

    def choose(count: int) -> int:
        nonlocal position
        position += 1
        return choices[position % len(choices)] % count

    disk = FaultyDisk(choose)
    file = opened(disk)
    for now, position_now in enumerate(sorted(positions)):
        file.advance(marks(position_now), now * INTERVAL_SECONDS)
    found = opened(disk.crash()).marks
    assert found is None or found.log.position in positions


@given(choices=st.lists(st.integers(0, 50), min_size=1, max_size=30))
def test_a_mark_that_was_settled_cannot_rise_again(choices: list[int]) -> None:
    position = 0

    def choose(count: int) -> int:
        nonlocal position
        position += 1
        return choices[position % len(choices)] % count

    disk = FaultyDisk(choose)
    file = opened(disk)
    file.advance(marks(500, 5), now=0.0)
    file.settle(marks(100, 1))
    assert opened(disk.crash()).marks == marks(100, 1)


def test_a_mark_that_cannot_be_settled_ends_the_process() -> None:
    disk = FaultyDisk()
    file = opened(disk)
    disk.fail("sync")
    with pytest.raises(SyncFailedError):
        file.settle(marks(1, 1))


def test_a_mark_that_cannot_be_written_leaves_the_one_that_stands() -> None:
    disk = FaultyDisk(lambda count: count // 2)
    file = opened(disk)
    file.advance(marks(100, 1), now=0.0)
    for now in (10.0, 20.0):
        disk.fail("write")
        assert file.advance(marks(200, 2), now) is not None
        assert opened(disk).marks == marks(100, 1)
    assert file.advance(marks(200, 2), 30.0) is None
    assert opened(disk).marks == marks(200, 2)


def test_the_size_of_the_files_is_known_once_a_mark_was_written_with_it() -> None:
    disk = FaultyDisk()
    file = opened(disk)
    assert not file.are_sizes_known
    file.settle(marks(0, 0))
    assert opened(disk).are_sizes_known
    assert not MarksFile(disk, MemoryBackground(disk), SIZE * 2, QUEUE_SIZE).are_sizes_known
