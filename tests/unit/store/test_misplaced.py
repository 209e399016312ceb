"""Where a power cut left a wrong bit in a record's queue offset, the log ends before it."""

from __future__ import annotations

import struct

import pytest

from gantrymq.fakes.store import SETTINGS, SYNC, OpenedStore
from gantrymq.testing.faulty_disk import FaultyDisk

QUEUE_OFFSET_AT = 20
SYNCED = [b"body %d" % number for number in range(10)]


def half_synced() -> tuple[FaultyDisk, OpenedStore]:
    """Ten messages of T are on disk for good and in the marks, ten of T and U are not."""
    disk = FaultyDisk()
    opened = OpenedStore(disk, SYNC)
    opened.put(*range(10))
    for _ in range(4):
        opened.turn(100.0)
        opened.settle()
    for number in range(10, 20):
        opened.put(number)
        opened.put(number, topic="U")
        opened.turn()
    return disk, opened


def turn_bit(disk: FaultyDisk, position: int, bit: int) -> None:
    """In the queue offset of the record there."""
    size = SETTINGS.mapped_file_size_commit_log
    start = position - position % size
    at = position - start + QUEUE_OFFSET_AT + 7 - bit // 8
    disk.flip_bit(f"commitlog/{start:020d}", at, bit % 8)


def place(opened: OpenedStore, topic: str, offset: int) -> int:
    queue = opened.store.queues.find(topic, 0)
    assert queue is not None
    return queue.unit(offset)[0]


@pytest.mark.parametrize("bit", [0, 3, 29, 62])
@pytest.mark.parametrize("is_copy", [False, True])
def test_the_log_ends_before_a_record_that_is_not_the_next_of_its_queue(
    bit: int, *, is_copy: bool
) -> None:
    disk, opened = half_synced()
    wrong = place(opened, "T", 14)
    turn_bit(disk, wrong, bit)
    again = OpenedStore(disk.kill(), SYNC, is_copy=is_copy)
    assert again.store.log.end == wrong
    assert again.store.report.end_reason == "it is not the next record of its queue"
    assert again.bodies() == SYNCED + [b"body %d" % number for number in range(10, 14)]
    assert again.bodies("U") == [b"body %d" % number for number in range(10, 14)]


def test_the_first_record_behind_the_mark_may_be_the_wrong_one() -> None:
    disk, opened = half_synced()
    wrong = place(opened, "T", 10)
    turn_bit(disk, wrong, 29)
    again = OpenedStore(disk.kill(), SYNC)
    assert (again.store.log.end, again.bodies()) == (wrong, SYNCED)
    again.put(10)
    again.turn()
    assert again.bodies() == [*SYNCED, b"body 10"]


def test_a_queue_that_is_short_is_made_again_and_no_record_is_taken_for_wrong() -> None:
    disk, opened = half_synced()
    file = opened.disk.open("consumequeue/T/0/00000000000000000000")
    unit = struct.Struct(">qiq")
    file.write(9 * unit.size, [bytes(unit.size)])
    file.sync()
    again = OpenedStore(disk.kill(), SYNC)
    assert again.bodies() == SYNCED + [b"body %d" % number for number in range(10, 20)]


def test_a_topic_that_was_deleted_where_the_log_comes_from_begins_anew() -> None:
    disk, opened = half_synced()
    wrong = place(opened, "T", 14)
    for bit in (1, 2, 3):  # 14 becomes 0
        turn_bit(disk, wrong, bit)
    again = OpenedStore(disk.kill(), SYNC, is_copy=True)
    assert again.store.log.end == opened.store.log.end
