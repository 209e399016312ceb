"""Tests reading truncated tails."""

from __future__ import annotations

from gantrymq.fakes.stores.store import SYNC, OpenedStore
from gantrymq.store.commitlog import log_truncation
from gantrymq.store.commitlog.log_truncation import TruncationRequest
from gantrymq.store.commitlog.truncated_tails import TruncatedTail, list_tails
from gantrymq.store.offline.log_reader import Break, Cause
from gantrymq.store.offline.record_choice import RecordChoice, chosen
from gantrymq.store.offline.tail_reading import look_at, row_of
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.message.record import Record

FILE_BYTES = SYNC.mapped_file_size_commit_log


def with_tail(disk: MemoryDisk) -> TruncatedTail:
    """A disk with a tail of seventy messages, from several files of the log."""
    opened = OpenedStore(disk, SYNC)
    opened.put(*range(100))
    opened.settle()
    place = opened.records("T", 0)[30].physical_offset
    opened.close()
    log_truncation.request(disk, TruncationRequest(place, epoch=3))
    OpenedStore(disk, SYNC).close()
    (tail,) = list_tails(disk)
    return tail


def read(disk: MemoryDisk, tail: TruncatedTail, choice: RecordChoice) -> list[Record | Break]:
    return list(chosen(disk, row_of(tail, FILE_BYTES), choice))


def test_tail_has_the_truncated_messages() -> None:
    disk = MemoryDisk()
    tail = with_tail(disk)
    assert tail.end - tail.start > 2 * FILE_BYTES
    *found, end = read(disk, tail, RecordChoice())
    assert [each.body for each in found if isinstance(each, Record)] == [
        b"body %d" % number for number in range(30, 100)
    ]
    assert isinstance(end, Break)
    assert (end.cause, end.position) == (Cause.END, tail.end)


def test_messages_of_a_tail_can_be_selected() -> None:
    disk = MemoryDisk()
    (found,) = read(disk, with_tail(disk), RecordChoice(key=b"k77", limit=1))
    assert isinstance(found, Record)
    assert found.body == b"body 77"


def test_messages_of_a_tail_are_counted() -> None:
    disk = MemoryDisk()
    seen = look_at(disk, with_tail(disk), FILE_BYTES)
    assert seen.figures.messages == 70
    assert seen.is_whole


def test_damage_is_reported_and_later_records_are_read() -> None:
    disk = MemoryDisk()
    tail = with_tail(disk)
    disk.open(tail.path).write(tail.size // 70 + 4, [b"\xff\xff"])
    seen = look_at(disk, tail, FILE_BYTES)
    assert not seen.is_whole
    assert seen.figures.messages == 69


def test_shortened_tail_is_read_up_to_its_end() -> None:
    disk = MemoryDisk()
    size = with_tail(disk).size // 2
    (path,) = [each.path for each in list_tails(disk)]
    disk.open(path).resize(size)
    (tail,) = list_tails(disk)
    seen = look_at(disk, tail, FILE_BYTES)
    assert not seen.is_whole
    assert 30 < seen.figures.messages < 40
