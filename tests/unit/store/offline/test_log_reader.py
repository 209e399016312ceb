"""Tests reading damaged logs of Java."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.fakes.stores.store_damage import LOG, SECOND_LOG, flip, poke
from gantrymq.store.offline.file_row import read_row
from gantrymq.store.offline.finding import Findings
from gantrymq.store.offline.log_reader import Break, Cause, LogReader
from gantrymq.store.record.dispatch_entry import DispatchEntry
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.message.record import Record, encode

JavaStore = Callable[[str], MemoryDisk]
FILE_BYTES = 65_536


def read(disk: MemoryDisk, start: int = 0) -> tuple[list[int], list[Break]]:
    """The records' positions, and the breaks."""
    reader = LogReader(disk, read_row(disk, "commitlog", FILE_BYTES, Findings()))
    events = list(reader.events(start))
    positions = [int(each.physical_offset) for each in events if isinstance(each, DispatchEntry)]
    return positions, [each for each in events if isinstance(each, Break)]


@pytest.fixture
def disk(java_store: JavaStore) -> MemoryDisk:
    return java_store("5.3.3-clean")


def test_a_sound_log_ends_once(disk: MemoryDisk) -> None:
    positions, breaks = read(disk)
    assert len(positions) == 215
    assert breaks == [Break(Cause.END, 88_539, 88_539)]


def test_preallocated_files_are_the_end(java_store: JavaStore) -> None:
    positions, breaks = read(java_store("5.3.3-crashed"))
    assert len(positions) == 208
    assert [each.cause for each in breaks] == [Cause.END]


def test_damaged_record_is_skipped(disk: MemoryDisk) -> None:
    sound, _ = read(disk)
    flip(disk, LOG, sound[3] + 90)
    positions, breaks = read(disk)
    assert positions == sound[:3] + sound[4:]
    assert [(each.cause, each.position, each.end) for each in breaks] == [
        (Cause.DAMAGE, sound[3], sound[4]),
        (Cause.END, 88_539, 88_539),
    ]


def test_damage_to_the_end_of_a_file_leads_to_the_next(disk: MemoryDisk) -> None:
    sound, _ = read(disk)
    disk.open(LOG).resize(sound[100] + 50)
    positions, breaks = read(disk)
    assert positions == sound[:100] + [each for each in sound if each >= FILE_BYTES]
    assert (breaks[0].cause, breaks[0].end) == (Cause.DAMAGE, FILE_BYTES)


def test_a_missing_file_is_a_break(disk: MemoryDisk) -> None:
    data = disk.open(SECOND_LOG).read(0, FILE_BYTES)
    disk.remove(SECOND_LOG)
    record = Record(
        b"T", b"later", physical_offset=2 * FILE_BYTES, store_timestamp_ms=1 << 42,
        born_host=bytes(8), store_host=bytes(8),
    )  # fmt: skip
    disk.create("commitlog/00000000000000131072").write(0, [encode(record).ljust(len(data), b"\0")])
    positions, breaks = read(disk)
    assert positions[-1] == 2 * FILE_BYTES
    assert breaks[0] == Break(Cause.MISSING, FILE_BYTES, 2 * FILE_BYTES)


def test_a_record_that_was_not_written_whole_is_torn(disk: MemoryDisk) -> None:
    sound, _ = read(disk)
    last = sound[-1] - FILE_BYTES
    poke(disk, SECOND_LOG, last + 120, bytes(FILE_BYTES - last - 120))
    positions, breaks = read(disk)
    assert positions == sound[:-1]
    assert (breaks[0].cause, breaks[0].position) == (Cause.TORN, sound[-1])


def test_older_records_behind_the_end_are_leftovers(disk: MemoryDisk) -> None:
    """Java leaves such records: it truncates without erasing, then writes fewer bytes."""
    sound, _ = read(disk)
    record = Record(
        b"T", b"new", physical_offset=sound[50], store_timestamp_ms=1 << 42,
        born_host=bytes(8), store_host=bytes(8),
    )  # fmt: skip
    disk.remove(SECOND_LOG)
    poke(disk, LOG, sound[50], encode(record))
    positions, breaks = read(disk)
    assert positions == sound[:51]
    assert [each.cause for each in breaks] == [Cause.LEFTOVER]


def test_reading_may_begin_anywhere(disk: MemoryDisk) -> None:
    sound, _ = read(disk)
    assert read(disk, sound[10])[0] == sound[10:]
    assert read(disk, sound[10] + 1)[0] == sound[11:]
    assert read(disk, FILE_BYTES - 1)[0] == [each for each in sound if each >= FILE_BYTES]
    assert read(disk, 1 << 40)[0] == []


def test_record_is_read_completely(disk: MemoryDisk) -> None:
    reader = LogReader(disk, read_row(disk, "commitlog", FILE_BYTES, Findings()))
    entry = next(each for each in reader.events(70_000) if isinstance(each, DispatchEntry))
    assert reader.record(entry).body == b"delay 2"


def small_log(harm: bytes, at: int) -> MemoryDisk:
    """Ten records in one small file, and bytes written over some of them."""
    disk = MemoryDisk()
    disk.make_folder("commitlog")
    file = disk.create(LOG)
    file.resize(FILE_BYTES)
    for number in range(10):
        record = Record(
            b"T", bytes(9), physical_offset=101 * number, store_timestamp_ms=number + 1,
            born_host=bytes(8), store_host=bytes(8),
        )  # fmt: skip
        file.write(101 * number, [encode(record)])
    file.write(at, [harm])
    return disk


@given(harm=st.binary(min_size=1, max_size=300), at=st.integers(0, 1200))
def test_any_damage_leaves_the_other_records_readable(harm: bytes, at: int) -> None:
    disk = small_log(harm, at)
    positions, breaks = read(disk)
    untouched = {p for p in range(0, 1010, 101) if p + 101 <= at or p >= at + len(harm)}
    assert untouched <= set(positions)
    assert [each.cause in {Cause.DAMAGE, Cause.MISSING} for each in breaks][-1] is False
