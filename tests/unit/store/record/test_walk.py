"""Tests the walk over a part of the log: records, blanks, and why it ends."""

from __future__ import annotations

import pytest

from gantrymq.store.commitlog.arena import Arena
from gantrymq.store.record.walk import Found, LogItem, look, walk
from gantrymq.wire.message.record import Record
from gantrymq.wire.message.record_scan import encode_blank

HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
START = 3000
FILE_BYTES = 1000


def log(bodies: int, start: int = START) -> bytes:
    arena = Arena(start, FILE_BYTES, 1)
    for number in range(bodies):
        arena.add(Record(b"T", b"%03d" % number, born_host=HOST, store_host=HOST))
    return b"".join(run.data for run in arena.runs())


def items(data: bytes, position: int = START) -> list[LogItem]:
    return list(walk(data, position, FILE_BYTES))


def test_records_up_to_the_last_byte() -> None:
    found = items(log(3))
    assert [item.found for item in found] == [Found.RECORD] * 3
    assert [item.record.body for item in found if item.record] == [b"000", b"001", b"002"]
    assert [item.position for item in found] == [START, START + 95, START + 190]


def test_zeros_end_the_log() -> None:
    last = items(log(2) + bytes(100))[-1]
    assert (last.found, last.position, last.reason) == (
        Found.NOTHING,
        START + 190,
        "no record begins here",
    )


def test_a_blank_ends_the_file() -> None:
    last = items(log(2) + encode_blank(FILE_BYTES - 190) + b"garbage")[-1]
    assert (last.found, last.position, last.size) == (Found.BLANK, START + 190, FILE_BYTES - 190)


@pytest.mark.parametrize("size", [8, FILE_BYTES - 191, FILE_BYTES - 189])
def test_blank_that_does_not_reach_the_end_of_the_file_is_invalid(size: int) -> None:
    last = items(log(2) + encode_blank(size))[-1]
    assert last.found is Found.NOTHING
    assert "810 are left" in last.reason


def test_incomplete_bytes_need_more_or_are_nothing() -> None:
    data = log(1)
    for size in range(1, len(data)):
        (item,) = items(data[:size])
        assert item.found is Found.MORE
        assert size < item.size <= len(data)
        assert items(data[: item.size])[0].found in {Found.RECORD, Found.MORE}


def test_every_damaged_byte_before_the_properties_is_detected_or_harmless() -> None:
    data = log(1)
    good = items(data)[0].record
    for at in range(len(data)):
        damaged = data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]
        item = look(damaged, 0, START, FILE_BYTES)
        if item.found is Found.RECORD:
            assert item.record != good  # a field that no CRC covers, in Java's format as well
            assert at not in range(12)
            assert at not in range(28, 36)
            assert at not in range(84, 91)


def test_record_of_another_position_is_invalid() -> None:
    item = look(log(1, start=0), 0, START, FILE_BYTES)
    assert (item.found, item.reason) == (Found.NOTHING, "a record that says it lies at 0")


def test_a_record_cannot_pass_the_end_of_its_file() -> None:
    item = look(log(1), 0, START + FILE_BYTES - 94, FILE_BYTES)
    assert item.found is Found.NOTHING
    assert "94 are left in the file" in item.reason


def test_nothing_begins_in_the_last_seven_bytes() -> None:
    item = look(bytes(7), 0, START + FILE_BYTES - 7, FILE_BYTES)
    assert (item.found, item.reason) == (Found.NOTHING, "only 7 bytes are left in the file")


def test_wrong_body_passes_only_without_verification() -> None:
    data = log(1).replace(b"000", b"00x")
    assert look(data, 0, START, FILE_BYTES).found is Found.NOTHING
    assert look(data, 0, START, FILE_BYTES, verify_body=False).found is Found.RECORD


def test_torn_record_is_detected_above_the_flush_position_only() -> None:
    arena = Arena(START, FILE_BYTES, 1)
    arena.add(Record(b"T", b"x", properties=b"a\x01b\x02", born_host=HOST, store_host=HOST))
    (run,) = arena.runs()
    for lost in (1, 2, 3, 4):
        torn = run.data[:-lost] + bytes(lost)
        assert look(torn, 0, START, FILE_BYTES).found is Found.RECORD
        item = look(torn, 0, START, FILE_BYTES, flushed=arena.end - 1)
        assert item.found is Found.NOTHING
        assert "torn" in item.reason
        assert look(torn, 0, START, FILE_BYTES, flushed=arena.end).found is Found.RECORD


def test_wrong_body_above_the_flush_position_is_rejected() -> None:
    data = bytearray(log(1))
    data[88] ^= 1
    (below,) = walk(bytes(data), START, FILE_BYTES, flushed=START + 95, verify_body=False)
    (above,) = walk(bytes(data), START, FILE_BYTES, flushed=START + 94, verify_body=False)
    assert (below.found, above.found) == (Found.RECORD, Found.NOTHING)
