"""Tests that a checkpoint shows its writer after any power cut."""

from __future__ import annotations

import contextlib
import json
import struct
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.disk import DiskError
from gantrymq.store.files.checkpoint import (
    FILE_BYTES,
    SLOT_BYTES,
    SLOT_POSITIONS,
    STEP_SECONDS,
    Checkpoint,
    CheckpointFile,
    decode,
    decode_slot,
    encode,
    encode_slot,
)
from gantrymq.testing.faulty_disk import FaultyDisk, PowerCut
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.testing.unsynced import lose_all

NUMBERS = st.integers(0, (1 << 63) - 1)
CHECKPOINTS = st.builds(Checkpoint, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS)

# Every byte of the first three is another one.
ONES = 0x1111111111111111
FIRST = Checkpoint(ONES, 2 * ONES, 3 * ONES, 4, 5)
SECOND = Checkpoint(4 * ONES, 5 * ONES, 6 * ONES, 4, 5)
JAVAS = Checkpoint(FIRST.log_ms, FIRST.queues_ms, FIRST.index_ms + 1, 4, 5)


def opened(disk: MemoryDisk | FaultyDisk) -> CheckpointFile:
    return CheckpointFile(disk, MemoryBackground(disk))


def settled(disk: MemoryDisk | FaultyDisk) -> CheckpointFile:
    """A synced file with the numbers FIRST."""
    file = opened(disk)
    file.settle()
    file.save(FIRST)
    return file


@given(CHECKPOINTS)
def test_encoded_checkpoint_is_decoded(checkpoint: Checkpoint) -> None:
    data = encode(checkpoint)
    assert decode(data) == checkpoint
    assert decode_slot(encode_slot(data)) == data


@given(CHECKPOINTS, st.integers(0, 40))
def test_short_file_lacks_only_the_missing_numbers(checkpoint: Checkpoint, size: int) -> None:
    whole = encode(checkpoint)
    assert decode(whole[:size]) == decode(whole[:size].ljust(len(whole), b"\0"))


@pytest.mark.parametrize("version", ["5.3.3", "4.9.8"])
def test_a_java_checkpoint_is_read_and_written_alike(
    java_store: Callable[[str], MemoryDisk],
    java_contents: Callable[[str], dict[str, Any]],
    version: str,
) -> None:
    disk = java_store(f"{version}-clean")
    data = disk.open("checkpoint").read(0, 1 << 20)
    file = opened(disk)
    checkpoint = file.saved
    listed = java_contents(f"{version}-clean")["checkpoint"]
    assert listed == {
        "physicMsgTimestamp": checkpoint.log_ms,
        "logicsMsgTimestamp": checkpoint.queues_ms,
        "indexMsgTimestamp": checkpoint.index_ms,
        "masterFlushedOffset": checkpoint.master_flushed_offset,
        "confirmPhyOffset": checkpoint.confirm_offset,
    }, json.dumps(listed)
    assert not file.is_ours
    file.settle()
    assert opened(disk).is_ours
    ours = disk.open("checkpoint").read(0, 1 << 20)
    slot = encode_slot(encode(checkpoint))
    assert ours.replace(slot, bytes(SLOT_BYTES)) == data


def test_negative_numbers_are_no_times() -> None:
    assert decode(b"\xff" * FILE_BYTES) == Checkpoint()


def test_recovery_starts_three_seconds_before_the_earlier_time() -> None:
    assert Checkpoint(10_000, 20_000, 1000).recovery_ms() == 7000
    assert Checkpoint(20_000, 9000, 1000).recovery_ms() == 6000
    assert Checkpoint(20_000, 9000, 1000).recovery_ms(with_index=True) == 1000
    assert Checkpoint(20_000, 9000, 8000).recovery_ms(with_index=True) == 6000
    assert Checkpoint(2000, 9000).recovery_ms() == 0
    assert Checkpoint().recovery_ms(with_index=True) == 0


def test_missing_file_is_created_and_has_no_times() -> None:
    disk = MemoryDisk()
    file = opened(disk)
    assert file.saved == Checkpoint()
    assert not file.is_ours
    assert disk.list("")[0].size == FILE_BYTES


@pytest.mark.parametrize("size", [20, FILE_BYTES + 1])
def test_file_of_another_length_is_resized(size: int) -> None:
    disk = MemoryDisk()
    disk.create("checkpoint").write(0, [encode(Checkpoint(7, 8))[:20].ljust(size, b"\0")])
    assert opened(disk).saved == Checkpoint(7, 8)
    assert disk.list("")[0].size == FILE_BYTES


def test_saved_checkpoint_is_read_again() -> None:
    disk = FaultyDisk(lose_all)
    settled(disk).save(SECOND)
    file = opened(disk.crash())
    assert (file.saved, file.is_ours) == (SECOND, True)


def test_damaged_or_short_slot_is_ignored() -> None:
    data = encode_slot(encode(FIRST))
    for at in range(len(data)):
        assert decode_slot(data[:at]) is None
        assert decode_slot(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]) is None
    assert decode_slot(bytes(SLOT_BYTES)) is None


def test_checkpoint_is_written_at_intervals_in_two_steps() -> None:
    disk = MemoryDisk()
    settled(disk)
    background = MemoryBackground(disk)
    file = CheckpointFile(disk, background)
    file.settle()
    place = disk.open("checkpoint")
    file.advance(FIRST, 0.0)
    assert not background.jobs
    file.advance(SECOND, STEP_SECONDS)
    file.advance(SECOND, 100.0)
    assert len(background.jobs) == 1
    assert decode(place.read(0, 40)) == FIRST
    assert complete(background, file)
    file.advance(SECOND, 101.0)
    assert decode(place.read(0, 40)) == SECOND
    assert complete(background, file)
    file.advance(SECOND, 200.0)
    assert not background.jobs


def complete(background: MemoryBackground, file: CheckpointFile) -> bool:
    """Whether what was synced was asked for by the file."""
    background.complete_all()
    return all(file.take(completion) for completion in background.take_completions())


@pytest.mark.parametrize("is_told", [True, False])
def test_after_a_failed_sync_the_checkpoint_is_not_written(is_told: bool) -> None:
    disk = FaultyDisk()
    settled(disk)
    background = MemoryBackground(disk)
    file = CheckpointFile(disk, background)
    file.settle()
    if is_told:
        file.advance(SECOND, 0.0)
        assert complete(background, file)
    file.advance(SECOND, STEP_SECONDS)
    disk.fail("sync")
    assert complete(background, file)
    file.advance(JAVAS, 100.0)
    assert not background.jobs
    file.save(JAVAS)
    found = opened(disk.crash())
    assert found.is_ours
    assert found.saved in {FIRST, SECOND}


def test_failed_sync_of_a_save_is_raised() -> None:
    disk = FaultyDisk()
    file = settled(disk)
    disk.fail("sync")
    with pytest.raises(DiskError):
        file.save(SECOND)
    file.save(SECOND)
    assert decode(disk.open("checkpoint").read(0, 40)) == FIRST


@pytest.mark.parametrize("numbers", [JAVAS, Checkpoint()])
def test_numbers_without_a_slot_are_from_java(numbers: Checkpoint) -> None:
    disk = MemoryDisk()
    settled(disk).save(SECOND)
    disk.open("checkpoint").write(0, [encode(numbers)])
    file = opened(disk)
    assert (file.saved, file.is_ours) == (numbers, False)
    file.settle()
    file = opened(disk)
    assert (file.saved, file.is_ours) == (numbers, True)


@pytest.mark.parametrize("at", range(struct.calcsize(">5q") + 1))
def test_torn_numbers_are_still_from_gantry(at: int) -> None:
    disk = MemoryDisk()
    settled(disk).save(SECOND)
    old, new = encode(FIRST), encode(SECOND)
    for torn in (old[:at] + new[at:], new[:at] + old[at:]):
        disk.open("checkpoint").write(0, [torn])
        file = opened(disk)
        assert file.is_ours
        assert file.saved in {FIRST, SECOND}


def test_torn_slot_leaves_the_other_one() -> None:
    disk = MemoryDisk()
    settled(disk).save(SECOND)
    place = disk.open("checkpoint")
    told = [decode_slot(place.read(at, SLOT_BYTES)) for at in SLOT_POSITIONS]
    assert sorted(filter(None, told)) == sorted([encode(FIRST), encode(SECOND)])
    place.write(SLOT_POSITIONS[told.index(encode(FIRST))], [b"torn"])
    assert opened(disk).is_ours


class Lives:
    """Processes that write checkpoints to a failing disk until a power cut."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.choose = random.randrange
        self.disk = FaultyDisk(self.choose)
        self.written = {Checkpoint()}
        opened(self.disk).settle()

    def live(self) -> None:
        """One life from a start to an end of any kind."""
        background = MemoryBackground(self.disk)
        file = CheckpointFile(self.disk, background)
        assert file.is_ours
        assert file.saved in self.written
        self.disk.crash_at = self.disk.operations + 1 + self.choose(15)
        with contextlib.suppress(PowerCut, DiskError):
            file.settle()
            self.go_on(file, background)
            file.save(self.news())
        self.disk = self.disk.kill() if self.choose(2) else self.disk.crash()

    def go_on(self, file: CheckpointFile, background: MemoryBackground) -> None:
        for round_number in range(self.choose(8)):
            if not self.choose(6):
                self.disk.fail(("write", "sync")[self.choose(2)])
            with contextlib.suppress(DiskError):
                file.advance(self.news(), round_number * STEP_SECONDS)
            if self.choose(3):
                complete(background, file)
        complete(background, file)

    def news(self) -> Checkpoint:
        checkpoint = Checkpoint(*[self.choose(1 << 62) for _ in range(5)])
        self.written.add(checkpoint)
        return checkpoint


def test_power_cut_never_makes_a_checkpoint_look_like_one_of_java() -> None:
    for seed in range(300):
        lives = Lives(seed)
        for _ in range(8):
            lives.live()
