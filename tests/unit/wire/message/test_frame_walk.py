"""Tests the walk over stored messages: positions of parts, selected messages, refused bytes."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import CorruptionError
from gantrymq.wire import hosts
from gantrymq.wire.message.frame_walk import (
    BODY_SLOT,
    BUFFER_BYTES_MAX,
    PROPERTIES_SLOT,
    RECORD_SLOT,
    SLOTS,
    TOPIC_SLOT,
    check_bodies,
    parts,
    walk,
)
from gantrymq.wire.message.record import Record, encode

V4 = hosts.parse("10.1.2.3:54321")
V6 = hosts.parse("[fe80::2]:10911")


def record(offset: int, body: bytes = b"hi", **fields: object) -> Record:
    given_fields: dict[str, object] = {"born_host": V4, "store_host": V4, **fields}
    return Record(b"T", body, queue_offset=offset, **given_fields)  # type: ignore[arg-type]


def stored(records: Sequence[Record]) -> bytes:
    return b"".join(map(encode, records))


def slots_of(data: bytes) -> list[int]:
    return [slot for (slot,) in struct.iter_unpack("<i", data)]


records_in_order = st.lists(
    st.builds(
        lambda topic, body, properties, born, store: Record(
            topic, body, properties=properties, born_host=born, store_host=store
        ),
        st.binary(max_size=255),
        st.binary(max_size=300),
        st.binary(max_size=300),
        st.sampled_from([V4, V6]),
        st.sampled_from([V4, V6]),
    ),
    max_size=8,
)


def test_slots_of_one_message_are_those_of_the_docstring() -> None:
    found = walk(stored([record(0)]), 0, 1)
    assert found.count == 1
    assert slots_of(found.slots) == [0, 88, 90, 91, 92, 94, 94]


@given(records_in_order)
def test_parts_are_those_of_the_records(records: list[Record]) -> None:
    for offset, each in enumerate(records):
        each.queue_offset = 3 + offset
    buffer = stored(records)
    found = walk(buffer, 0, 100)
    assert parts(buffer, found, RECORD_SLOT) == [
        encode(each)[: len(encode(each)) - len(each.body) - _tail_bytes(each)] for each in records
    ]
    assert parts(buffer, found, BODY_SLOT) == [each.body for each in records]
    assert parts(buffer, found, TOPIC_SLOT) == [each.topic for each in records]
    assert parts(buffer, found, PROPERTIES_SLOT) == [each.properties for each in records]
    check_bodies(buffer, found)


def _tail_bytes(each: Record) -> int:
    return each.version + len(each.topic) + 2 + len(each.properties)


@pytest.mark.parametrize(
    ("first", "end", "offsets"),
    [(0, 9, [4, 5, 6]), (5, 9, [5, 6]), (0, 6, [4, 5]), (5, 6, [5]), (7, 9, []), (0, 4, [])],
)
def test_only_messages_of_the_range_are_returned(first: int, end: int, offsets: list[int]) -> None:
    buffer = stored([record(offset) for offset in (4, 5, 6)])
    found = walk(buffer, first, end)
    assert found.count == len(offsets)
    heads = parts(buffer, found, RECORD_SLOT)
    assert [int.from_bytes(head[20:28]) for head in heads] == offsets


def test_slots_end_where_the_last_message_of_the_range_ends() -> None:
    buffer = stored([record(4), record(5)])
    assert slots_of(walk(buffer, 0, 5).slots)[-1] == len(buffer) // 2


def test_flags_of_all_messages_are_gathered() -> None:
    flags = [record(0, sys_flag=0x1), record(1, sys_flag=0x8), record(2, sys_flag=0x100)]
    assert walk(stored(flags), 0, 2).sys_flags == 0x9


def test_flags_of_skipped_messages_are_ignored() -> None:
    buffer = stored([record(0, sys_flag=0x1), record(1)])
    assert walk(buffer, 1, 2).sys_flags == 0


def test_no_bytes_are_no_messages() -> None:
    found = walk(b"", 0, 1)
    assert (found.count, slots_of(found.slots)) == (0, [0])


def test_body_that_does_not_match_its_crc_is_refused() -> None:
    buffer = bytearray(stored([record(0), record(1, b"body")]))
    buffer[len(stored([record(0)])) + 88] ^= 1
    found = walk(bytes(buffer), 0, 9)
    with pytest.raises(CorruptionError, match=r"body of message 1 .* does not match its CRC"):
        check_bodies(bytes(buffer), found)


def test_offsets_that_do_not_ascend_are_refused() -> None:
    with pytest.raises(CorruptionError, match=r"message 4 at .* comes behind message 5"):
        walk(stored([record(5), record(4)]), 0, 9)


def test_part_of_a_message_is_refused() -> None:
    buffer = stored([record(0), record(1)])
    size = len(buffer) // 2
    for end in range(size + 1, 2 * size):
        with pytest.raises(CorruptionError):
            walk(buffer[:end], 0, 9)


def test_more_bytes_than_positions_reach_are_refused() -> None:
    with pytest.raises(CorruptionError, match="at most"):
        walk(bytes(BUFFER_BYTES_MAX + 1), 0, 1)


@given(records_in_order, st.data())
def test_damaged_bytes_are_refused_or_cut_within_the_buffer(
    records: list[Record], data: st.DataObject
) -> None:
    buffer = bytearray(stored(records))
    for _ in range(min(len(buffer), 3)):
        buffer[data.draw(st.integers(0, len(buffer) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = walk(bytes(buffer), -(1 << 63), (1 << 63) - 1)
    except CorruptionError:
        return
    slots = slots_of(found.slots)
    assert len(slots) == found.count * SLOTS + 1
    assert slots == sorted(slots)
    assert slots[0] >= 0
    assert slots[-1] <= len(buffer)
