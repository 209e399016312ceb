"""Tests the snapshot of where queues end: its bytes, damage, and when it is void."""

from __future__ import annotations

import dataclasses
import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.disk import DiskError, DiskFailure
from gantrymq.store.consumequeue import queue_snapshot
from gantrymq.store.consumequeue.queue_snapshot import (
    UNKNOWN_MS,
    QueueState,
    Stamp,
    TopicState,
    decode,
    encode,
)
from gantrymq.store.files import checkpoint
from gantrymq.store.files.checkpoint import Checkpoint, CheckpointFile
from gantrymq.testing.faulty_disk import FaultyDisk, PowerCut
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.testing.unsynced import Chooser, keep_all, lose_all

STAMP = Stamp(1024, 4096, 6_000_000, 17, bytes(40))
TOPICS = [
    TopicState("A", 5, [QueueState(0, 300, 600, 420, 4000, 310, 1030)]),
    TopicState("%RETRY%é\udcff", UNKNOWN_MS, [QueueState(7, 0, 0, 0, 0, 0, -1)] * 2),
    TopicState("", 0, []),
]


def written(disk: MemoryDisk | FaultyDisk, number: int = 1) -> Stamp:
    """The stamp of a store whose checkpoint says this."""
    file = CheckpointFile(disk, MemoryBackground(disk))
    file.settle()
    file.save(Checkpoint(number, number, number))
    file.close()
    return queue_snapshot.stamp(disk, 0, 1000, 6_000_000)


def test_snapshot_has_the_documented_bytes() -> None:
    data = encode(STAMP, TOPICS[:1])
    assert data[:4] == b"GFQ1"
    assert data[8:16] == (1024).to_bytes(8, "big")
    assert data[80:84] == (1).to_bytes(4, "big")
    assert data[84:87] == b"\0\1A"
    assert len(data) == 84 + 3 + 12 + 52
    assert data[-8:] == (1030).to_bytes(8, "big")


def test_encoded_snapshot_is_decoded() -> None:
    assert decode(encode(STAMP, TOPICS), STAMP) == TOPICS
    assert decode(encode(STAMP, []), STAMP) == []


@pytest.mark.parametrize("name", ["log_start", "log_end", "file_bytes", "checkpoint_ms"])
def test_snapshot_with_another_stamp_is_void(name: str) -> None:
    data = encode(STAMP, TOPICS)
    fields = {each.name: getattr(STAMP, each.name) for each in dataclasses.fields(STAMP)}
    assert decode(data, Stamp(**(fields | {name: 3}))) is None
    assert decode(data, replace(STAMP, checkpoint=bytes(39) + b"\1")) is None


def test_damaged_snapshot_is_void() -> None:
    data = encode(STAMP, TOPICS)
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 0x40
        assert decode(bytes(damaged), STAMP) is None
        assert decode(data[:at], STAMP) is None


@given(st.integers(76, 84 + 100), st.binary(max_size=12))
def test_any_bytes_with_a_correct_crc_are_decoded_or_void(at: int, patch: bytes) -> None:
    body = bytearray(encode(STAMP, TOPICS)[8:])
    body[at : at + len(patch)] = patch
    data = bytes(body)
    crc = zlib.crc32(data).to_bytes(4, "big")
    decode(queue_snapshot.MAGIC + crc + data, STAMP)


@pytest.mark.parametrize(
    "queue",
    [(-1, 0, 5, 5, 0, 0, 0), (0, 5, 4, 4, 0, 4, 0), (0, 0, 5, 6, 0, 0, 0), (0, 0, 5, 5, 0, 6, 0),
     (0, -5, 5, 5, 0, 0, 0), (0, 0, 5, 5, -1, 0, 0)],
)  # fmt: skip
def test_impossible_numbers_make_the_snapshot_void(queue: tuple[int, ...]) -> None:
    data = encode(STAMP, [TopicState("A", 0, [QueueState(*queue)])])
    assert decode(data, STAMP) is None


def test_snapshot_is_used_once() -> None:
    disk = FaultyDisk(lose_all)
    stamp = written(disk)
    queue_snapshot.save(disk, stamp, TOPICS)
    assert queue_snapshot.take(disk, stamp) == TOPICS
    disk = disk.crash()
    assert queue_snapshot.take(disk, stamp) is None


def test_void_snapshot_is_removed() -> None:
    disk = MemoryDisk()
    stamp = written(disk)
    queue_snapshot.save(disk, stamp, TOPICS)
    assert queue_snapshot.take(disk, replace(stamp, log_end=0)) is None
    assert not disk.list("gantry")
    queue_snapshot.discard(disk)


def test_snapshot_is_void_after_java_wrote_the_store() -> None:
    disk = MemoryDisk()
    queue_snapshot.save(disk, written(disk), TOPICS)
    disk.now_ms += 1
    disk.open("checkpoint").write(0, [checkpoint.encode(Checkpoint(1, 1, 1))])  # the same bytes
    assert queue_snapshot.take(disk, queue_snapshot.stamp(disk, 0, 1000, 6_000_000)) is None


def test_a_store_without_a_checkpoint_has_a_stamp_of_its_own() -> None:
    disk = MemoryDisk()
    none = queue_snapshot.stamp(disk, 0, 1000, 6_000_000)
    assert none != written(disk)


@pytest.mark.parametrize("choose", [keep_all, lose_all])
def test_power_cut_leaves_a_complete_snapshot_or_none(choose: Chooser) -> None:
    for crash_at in range(1, 7):
        disk = FaultyDisk(choose)
        stamp = written(disk)
        disk.crash_at = disk.operations + crash_at
        try:
            queue_snapshot.save(disk, stamp, TOPICS)
            is_done = True
        except PowerCut:
            is_done = False
        found = queue_snapshot.take(disk.crash(), stamp)
        assert found == TOPICS if is_done else found in (None, TOPICS)


def test_full_disk_is_raised_and_leaves_no_snapshot() -> None:
    disk = FaultyDisk()
    stamp = written(disk)
    disk.fail("write", DiskFailure.NO_SPACE)
    with pytest.raises(DiskError, match="no space"):
        queue_snapshot.save(disk, stamp, TOPICS)
    assert queue_snapshot.take(disk, stamp) is None
    queue_snapshot.save(disk, stamp, TOPICS)
    assert queue_snapshot.take(disk, stamp) == TOPICS
