from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.store.checkpoint import (
    FILE_BYTES,
    Checkpoint,
    CheckpointFile,
    decode,
    encode,
    is_ours,
)
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.testing.unsynced import lose_all

NUMBERS = st.integers(0, (1 << 63) - 1)
CHECKPOINTS = st.builds(Checkpoint, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS)


@given(CHECKPOINTS)
def test_what_is_encoded_is_decoded(checkpoint: Checkpoint) -> None:
    data = encode(checkpoint)
    assert len(data) == FILE_BYTES
    assert decode(data) == checkpoint


@given(CHECKPOINTS, st.integers(0, 40))
def test_a_short_file_loses_only_what_is_missing(checkpoint: Checkpoint, size: int) -> None:
    whole = encode(checkpoint)
    assert decode(whole[:size]) == decode(whole[:size].ljust(FILE_BYTES, b"\0"))


@pytest.mark.parametrize("version", ["5.3.3", "4.9.8"])
def test_a_java_checkpoint_is_read_and_written_alike(
    java_store: Callable[[str], MemoryDisk],
    java_contents: Callable[[str], dict[str, Any]],
    version: str,
) -> None:
    disk = java_store(f"{version}-clean")
    data = disk.open("checkpoint").read(0, 1 << 20)
    checkpoint = decode(data)
    listed = java_contents(f"{version}-clean")["checkpoint"]
    assert listed == {
        "physicMsgTimestamp": checkpoint.log_ms,
        "logicsMsgTimestamp": checkpoint.queues_ms,
        "indexMsgTimestamp": checkpoint.index_ms,
        "masterFlushedOffset": checkpoint.master_flushed_offset,
        "confirmPhyOffset": checkpoint.confirm_offset,
    }, json.dumps(listed)
    ours = encode(checkpoint)
    assert ours.replace(ours[504:512], bytes(8)) == data
    assert is_ours(ours)
    assert not is_ours(data)


def test_negative_numbers_are_no_times() -> None:
    assert decode(b"\xff" * FILE_BYTES) == Checkpoint()


def test_recovery_goes_back_to_the_earlier_one_and_three_seconds() -> None:
    assert Checkpoint(10_000, 20_000, 1000).recovery_ms() == 7000
    assert Checkpoint(20_000, 9000, 1000).recovery_ms() == 6000
    assert Checkpoint(20_000, 9000, 1000).recovery_ms(with_index=True) == 1000
    assert Checkpoint(20_000, 9000, 8000).recovery_ms(with_index=True) == 6000
    assert Checkpoint(2000, 9000).recovery_ms() == 0
    assert Checkpoint().recovery_ms(with_index=True) == 0


def test_a_missing_file_is_made_and_reads_as_nothing_known() -> None:
    disk = MemoryDisk()
    file = CheckpointFile.open(disk)
    assert file.saved == Checkpoint()
    assert disk.list("")[0].size == FILE_BYTES


def test_what_was_saved_is_found_again() -> None:
    disk = FaultyDisk(lose_all)
    CheckpointFile.open(disk).save(Checkpoint(1, 2, 3, 4, 5))
    assert CheckpointFile.open(disk.crash()).saved == Checkpoint(1, 2, 3, 4, 5)


def test_only_news_is_written() -> None:
    disk = MemoryDisk()
    file = CheckpointFile.open(disk)
    assert file.write(Checkpoint(log_ms=1))
    assert not file.write(Checkpoint(log_ms=1))
    assert decode(file.file.read(0, FILE_BYTES)) == Checkpoint(log_ms=1)


def test_a_short_file_gets_its_length_back() -> None:
    disk = MemoryDisk()
    disk.create("checkpoint").write(0, [encode(Checkpoint(7, 8))[:20]])
    assert CheckpointFile.open(disk).saved == Checkpoint(7, 8)
    assert disk.list("")[0].size == FILE_BYTES
