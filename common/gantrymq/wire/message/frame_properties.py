"""Finds properties of all messages of a walked buffer in one pass (frame_walk.py).

Positions are little-endian int32 in ascending order, so they are the offsets of an Arrow binary
array over the buffer, of which a reader takes the wanted elements:

    one name    value | gap                      two a message, and one more at the end
    all         name | \\1 | value | gap         four an entry, and one more at the end

A message without the property has an empty value, which no property has.

As in properties.py, entries without name or value are skipped, and the last of equal names wins.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import BytesWriter, read_i32_le, write_i32_le
from mypy_extensions import i32, i64

from gantrymq.wire.message.frame_walk import PROPERTIES_SLOT, FrameWalk

VALUE_POSITIONS: Final = 2
ENTRY_POSITIONS: Final = 4

_SLOT_BYTES: Final = 4
_MESSAGE_BYTES: Final = 24
_NAME_END: Final = 1
_VALUE_END: Final = 2
_NAME_END_BYTES: Final = b"\x01"
_VALUE_END_BYTES: Final = b"\x02"


@final
class PropertyEntries:
    """The positions of all properties of all messages."""

    __slots__ = ("counts", "positions", "repeated")

    def __init__(self, counts: bytes, positions: bytes, repeated: list[int]) -> None:
        self.counts: bytes = counts
        """The number of entries of each message, int32, without those in `repeated`."""
        self.positions: bytes = positions
        self.repeated: list[int] = repeated
        """The indexes of entries that a later one of the same message and name replaces."""


def value_positions(buffer: bytes, frames: FrameWalk, name: str) -> bytes:
    """The positions of the values of one property."""
    start = b"%b\x01" % name.encode()
    slots = frames.slots
    writer = BytesWriter()
    at: i64 = PROPERTIES_SLOT * _SLOT_BYTES
    for _ in range(i64(frames.count)):
        begin: i64 = i64(read_i32_le(slots, at))
        end: i64 = i64(read_i32_le(slots, at + _SLOT_BYTES))
        _write_value(buffer, start, begin, end, writer)
        at += _MESSAGE_BYTES
    write_i32_le(writer, i32(len(buffer)))
    return writer.getvalue()


def _write_value(buffer: bytes, start: bytes, begin: i64, end: i64, writer: BytesWriter) -> None:
    """Add the positions of the last value of that name in these properties."""
    size: i64 = len(start)
    first = start[0]
    value = value_end = begin
    entry = begin
    at = begin
    while at <= end:
        if at == end or buffer[at] == _VALUE_END:
            # Comparing the first byte avoids most copies.
            if (
                at - entry > size
                and buffer[entry] == first
                and buffer[entry : entry + size] == start
            ):
                value, value_end = entry + size, at
            entry = at + 1
        at += 1
    write_i32_le(writer, i32(value))
    write_i32_le(writer, i32(value_end))


def property_entries(buffer: bytes, frames: FrameWalk) -> PropertyEntries:
    """The positions of all properties."""
    slots = frames.slots
    counts, positions = BytesWriter(), BytesWriter()
    repeated: list[int] = []
    at: i64 = PROPERTIES_SLOT * _SLOT_BYTES
    for _ in range(i64(frames.count)):
        begin: i64 = i64(read_i32_le(slots, at))
        end: i64 = i64(read_i32_le(slots, at + _SLOT_BYTES))
        replaced: i64 = len(repeated)
        count = _write_entries(buffer, begin, end, positions, repeated)
        write_i32_le(counts, i32(count - (len(repeated) - replaced)))
        at += _MESSAGE_BYTES
    write_i32_le(positions, i32(len(buffer)))
    return PropertyEntries(counts.getvalue(), positions.getvalue(), repeated)


def _write_entries(
    buffer: bytes, begin: i64, end: i64, positions: BytesWriter, repeated: list[int]
) -> i64:
    """Add the positions of one message's entries; returns how many there are."""
    first: i64 = len(positions) // (ENTRY_POSITIONS * _SLOT_BYTES)
    count: i64 = 0
    marks: i64 = 0
    may_repeat = False
    start = begin
    name_end: i64 = -1
    at = begin
    while at <= end:
        byte: i64 = i64(buffer[at]) if at < end else _VALUE_END
        if byte == _NAME_END and name_end < 0:
            name_end = at
        elif byte == _VALUE_END:
            if start < name_end < at - 1:
                mark = _mark(buffer, start, name_end)
                may_repeat = may_repeat or (marks & mark) != 0
                marks |= mark
                count += 1
                write_i32_le(positions, i32(start))
                write_i32_le(positions, i32(name_end))
                write_i32_le(positions, i32(name_end + 1))
                write_i32_le(positions, i32(at))
            start = at + 1
            name_end = -1
        at += 1
    if may_repeat:
        _note_repeated(buffer[begin:end], int(first), repeated)
    return count


def _mark(buffer: bytes, start: i64, end: i64) -> i64:
    """One of 64 bits as a hash of a name: names with different bits are different."""
    number = (end - start) * 5 + i64(buffer[start]) * 3 + i64(buffer[end - 1])
    return i64(1) << (number & 63)


def _note_repeated(properties: bytes, first: int, repeated: list[int]) -> None:
    """Find the entries that a later one replaces; the first of these entries has index `first`."""
    numbers: dict[bytes, int] = {}
    number = first
    for entry in properties.split(_VALUE_END_BYTES):
        name, _, value = entry.partition(_NAME_END_BYTES)
        if name and value:
            if name in numbers:
                repeated.append(numbers[name])
            numbers[name] = number
            number += 1
