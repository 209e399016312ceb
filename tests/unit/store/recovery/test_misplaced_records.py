"""Tests that the log ends before a record with a wrong queue offset."""

from __future__ import annotations

import pytest

from gantrymq.fakes.stores.store import SETTINGS, SYNC, OpenedStore, message
from gantrymq.store.commitlog import log_walk
from gantrymq.store.consumequeue.queue_unit import UNIT_BYTES
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.wire.message.sys_flag import TRANSACTION_PREPARED

QUEUE_OFFSET_AT = 20


def half_synced() -> tuple[FaultyDisk, OpenedStore]:
    """Ten messages of T are synced and below the flush position, ten of T and U are not."""
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
    """Flip a bit in the queue offset of the record at this position."""
    size = SETTINGS.mapped_file_size_commit_log
    start = position - position % size
    at = position - start + QUEUE_OFFSET_AT + 7 - bit // 8
    disk.flip_bit(f"commitlog/{start:020d}", at, bit % 8)


def place(opened: OpenedStore, topic: str, offset: int) -> int:
    queue = opened.store.queues.find(topic, 0)
    assert queue is not None
    return queue.unit(offset)[0]


def bodies(first: int, past: int) -> list[bytes]:
    return [b"body %d" % number for number in range(first, past)]


@pytest.mark.parametrize("bit", [0, 3, 29, 62, 63])
@pytest.mark.parametrize("number", [10, 14])
def test_the_log_ends_before_a_record_that_is_not_the_next_of_its_queue(
    number: int, bit: int
) -> None:
    disk, opened = half_synced()
    wrong = place(opened, "T", number)
    turn_bit(disk, wrong, bit)
    again = OpenedStore(disk.kill(), SYNC)
    assert again.store.log.end == wrong
    assert again.store.report.end_reason == "it is not the next record of its queue"
    assert (again.bodies(), again.bodies("U")) == (bodies(0, number), bodies(10, number))
    again.put(number)
    again.turn()
    assert again.bodies() == bodies(0, number + 1)


@pytest.mark.parametrize("chunk_bytes", [256, 1 << 20])
@pytest.mark.parametrize(("topic", "number", "bit"), [("T", 16, 4), ("U", 0, 5)])
def test_record_that_seems_to_begin_its_queue_anew_is_refuted_by_the_next_one(
    topic: str, number: int, bit: int, chunk_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_walk, "CHUNK_BYTES", chunk_bytes)
    disk, opened = half_synced()
    wrong = place(opened, topic, number)
    turn_bit(disk, wrong, bit)
    again = OpenedStore(disk.kill(), SYNC)
    assert again.store.log.end == wrong
    assert again.bodies() == bodies(0, 11 + number if topic == "U" else number)


def test_records_without_a_queue_are_not_checked() -> None:
    disk, opened = half_synced()
    prepared = message(20)
    prepared.sys_flag = TRANSACTION_PREPARED
    assert isinstance(opened.store.put(prepared), int)
    opened.put(21)
    opened.turn()
    again = OpenedStore(disk.kill(), SYNC)
    assert again.store.log.end == opened.store.log.end
    assert again.bodies() == [*bodies(0, 20), b"body 21"]


def test_log_is_never_truncated_below_the_flush_position() -> None:
    disk, opened = half_synced()
    turn_bit(disk, place(opened, "T", 5), 29)
    disk = disk.kill()
    for path in ("0/00000000000000000000", "0", ""):
        disk.remove(f"consumequeue/T/{path}".rstrip("/"))
    again = OpenedStore(disk, SYNC)
    assert again.store.report.walked_bytes == opened.store.log.end
    assert again.store.log.end == opened.store.log.end


def test_record_behind_another_misplaced_one_does_not_count() -> None:
    disk, opened = half_synced()
    wrong = place(opened, "T", 14)
    turn_bit(disk, wrong, 5)
    turn_bit(disk, place(opened, "T", 15), 0)  # it says 14 now
    again = OpenedStore(disk.kill(), SYNC)
    assert (again.store.log.end, again.bodies()) == (wrong, bodies(0, 14))


def test_record_with_a_wrong_queue_does_not_move_that_queue() -> None:
    disk, opened = half_synced()
    wrong = place(opened, "U", 4)
    start = wrong - wrong % SETTINGS.mapped_file_size_commit_log
    at = disk.open(f"commitlog/{start:020d}").read(wrong - start, 200).index(b"\x01U")
    disk.flip_bit(f"commitlog/{start:020d}", wrong - start + at + 1, 0)  # U becomes T
    again = OpenedStore(disk.kill(), SYNC)
    assert (again.store.log.end, again.bodies()) == (wrong, bodies(0, 15))


@pytest.mark.parametrize("bit", [59, 63])
def test_impossible_first_offset_ends_the_log(bit: int) -> None:
    disk, opened = half_synced()
    opened.put(20, topic="V")
    opened.turn()
    wrong = place(opened, "V", 0)
    turn_bit(disk, wrong, bit)
    again = OpenedStore(disk.kill(), SYNC)
    assert (again.store.log.end, again.bodies()) == (wrong, bodies(0, 20))


def test_short_queue_is_rebuilt_and_the_log_stays() -> None:
    disk, _ = half_synced()
    empty_unit(disk, 9)
    again = OpenedStore(disk.kill(), SYNC)
    assert again.bodies() == bodies(0, 20)


@pytest.mark.parametrize("number", [10, 15])
def test_log_decides_the_next_offset_of_a_rebuilt_queue(number: int) -> None:
    disk, opened = half_synced()
    wrong = place(opened, "T", number)
    turn_bit(disk, wrong, 29)
    empty_unit(disk, 9)
    again = OpenedStore(disk.kill(), SYNC)
    assert (again.store.log.end, again.bodies()) == (wrong, bodies(0, number))


def empty_unit(disk: FaultyDisk, number: int) -> None:
    """Blank a unit of T's queue, and sync that."""
    file = disk.open("consumequeue/T/0/00000000000000000000")
    file.write(number * UNIT_BYTES, [bytes(UNIT_BYTES)])
    file.sync()


def test_topic_deleted_on_the_master_begins_anew() -> None:
    disk, opened = half_synced()
    first = place(opened, "T", 14)
    for number in range(14, 20):
        for bit in range(5):
            if (number ^ number - 14) >> bit & 1:
                turn_bit(disk, place(opened, "T", number), bit)
    again = OpenedStore(disk.kill(), SYNC, is_copy=True)
    assert again.store.log.end == opened.store.log.end
    queue = again.store.queues.find("T", 0)
    assert queue is not None
    assert (queue.unit(0)[0], queue.end) == (first, 6)
