"""Finds properties of all messages of a walked buffer at once (frame_walk.py).

Positions are little-endian int32 and ascend, so that they are the offsets of an Arrow binary array
over the buffer, of which a reader takes the wanted elements:

    one name    value | between                  two a message, and one more at the end
    all         name | \\1 | value | between      four an entry, and one more at the end

A message without the one property has an empty value there, which no property has.

Which entry counts is what properties.py says: entries without name or value are skipped, the last
of equal names wins.
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
_VALUE_END_BYTES: Final = b"\x02"


@final
class PropertyEntries:
    """Where all properties of all messages are."""

    __slots__ = ("counts", "positions", "repeated")

    def __init__(self, counts: bytes, positions: bytes, repeated: list[int]) -> None:
        self.counts: bytes = counts
        """How many each message has, int32: without those that are `repeated`."""
        self.positions: bytes = positions
        self.repeated: list[int] = repeated
        """The numbers of entries that a later one of the same message and name replaces."""


def value_positions(buffer: bytes, frames: FrameWalk, name: str) -> bytes:
    """Where the values of one property are."""
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
    found: i64 = buffer.rfind(start, begin, end)
    while found >= 0:
        if found == begin or buffer[found - 1] == _VALUE_END:
            value = found + size
            value_end: i64 = buffer.find(_VALUE_END_BYTES, value, end)
            if value_end < 0:
                value_end = end
            if value_end > value:
                write_i32_le(writer, i32(value))
                write_i32_le(writer, i32(value_end))
                return
        found = buffer.rfind(start, begin, found + size - 1)
    write_i32_le(writer, i32(begin))
    write_i32_le(writer, i32(begin))


def property_entries(buffer: bytes, frames: FrameWalk) -> PropertyEntries:
    """Where all properties are."""
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
    """Add the positions of one message's entries; how many there are."""
    first: i64 = len(positions) // (ENTRY_POSITIONS * _SLOT_BYTES)
    starts: list[int] = []
    ends: list[int] = []
    start = begin
    name_end: i64 = -1
    at = begin
    while at <= end:
        byte: i64 = i64(buffer[at]) if at < end else _VALUE_END
        if byte == _NAME_END and name_end < 0:
            name_end = at
        elif byte == _VALUE_END:
            if start < name_end < at - 1:
                _note_repeated(buffer, starts, ends, start, name_end, first, repeated)
                starts.append(int(start))
                ends.append(int(name_end))
                write_i32_le(positions, i32(start))
                write_i32_le(positions, i32(name_end))
                write_i32_le(positions, i32(name_end + 1))
                write_i32_le(positions, i32(at))
            start = at + 1
            name_end = -1
        at += 1
    return len(starts)


def _note_repeated(
    buffer: bytes,
    starts: list[int],
    ends: list[int],
    start: i64,
    end: i64,
    first: i64,
    repeated: list[int],
) -> None:
    """The entry of this name, the last one so far, replaces an earlier one."""
    length = end - start
    for index in range(i64(len(starts))):
        earlier: i64 = starts[index]
        if (
            i64(ends[index]) - earlier == length
            and buffer[earlier] == buffer[start]  # rarely: spares the copies below
            and buffer[earlier : earlier + length] == buffer[start:end]
        ):
            number = int(first + index)
            if number not in repeated[-len(starts) :]:
                repeated.append(number)
