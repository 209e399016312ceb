"""Tests how a missing log is told apart from a new one."""

from __future__ import annotations

import pytest

from gantrymq.store.files.checkpoint import Checkpoint
from gantrymq.store.files.flush_positions import VOID, LogPosition
from gantrymq.store.offline.index_inspection import IndexHead
from gantrymq.store.offline.missing_log import missing_log, witnesses
from gantrymq.testing.memory_disk import MemoryDisk

EMPTY = IndexHead("index/1", 0, 0, 0, 0, 0, 1)
USED = IndexHead("index/1", 1, 1, 0, 0, 1, 2)


def queue(size: int) -> MemoryDisk:
    disk = MemoryDisk()
    disk.make_folder("consumequeue/T/0")
    disk.create("consumequeue/T/0/00000000000000000000").resize(size)
    return disk


@pytest.mark.parametrize(
    ("disk", "head", "saved", "mark", "expected"),
    [
        (queue(0), EMPTY, Checkpoint(), LogPosition(), []),
        (queue(0), EMPTY, Checkpoint(), VOID.log, []),
        (queue(20), EMPTY, Checkpoint(), LogPosition(), ["the queues (1)"]),
        (queue(0), USED, Checkpoint(), LogPosition(), ["the index (1)"]),
        (queue(0), EMPTY, Checkpoint(log_ms=1), LogPosition(), ["the checkpoint"]),
        (queue(0), EMPTY, Checkpoint(), LogPosition(1, 0, 1), ["the flush positions"]),
    ],
)
def test_each_witness_proves_a_missing_log(
    disk: MemoryDisk, head: IndexHead, saved: Checkpoint, mark: LogPosition, expected: list[str]
) -> None:
    assert list(witnesses(disk, [head], saved, mark)) == expected


def test_log_without_files_and_witnesses_is_new() -> None:
    assert missing_log(MemoryDisk(), "", []) == ""


def test_empty_folder_is_told_apart_from_a_missing_one() -> None:
    disk = MemoryDisk()
    assert missing_log(disk, "", ["the flush positions"]).startswith("is not there")
    disk.make_folder("commitlog")
    assert missing_log(disk, "", ["the flush positions"]).startswith("has no file")
