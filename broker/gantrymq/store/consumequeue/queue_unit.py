"""Encodes and checks the units of a consume queue, which say where messages lie in the log.

    bytes  0-7    int64  physical offset of the record
           8-11   int32  size of the record
          12-19   int64  tags code: hash of the tag; delivery time in ms for delayed messages

Unit n of a queue is message n. A valid unit has an offset >= 0 and a size > 0, so zeros are not a
unit: zeros follow the last unit of a file. A blank unit (0, 7FFFFFFF, 0) counts as valid and stands
for a message that this queue never had: blanks fill a file up to the start of a queue.
"""

from __future__ import annotations

import operator
import struct
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from gantrymq.base.errors import CorruptionError

UNIT_BYTES: Final = 20
UNIT: Final = struct.Struct(">qiq")
BLANK_SIZE: Final = 0x7FFFFFFF
BLANK: Final = UNIT.pack(0, BLANK_SIZE, 0)


def units(data: bytes, first: int, place: str) -> Iterator[tuple[int, int, int]]:
    """(physical offset, size, tags code) of each unit; `first` and `place` are for the error."""
    for number, unit in enumerate(UNIT.iter_unpack(data), first):
        if unit[0] < 0 or unit[1] <= 0:
            raise CorruptionError(
                f"{place}: unit {number} says {unit[1]} bytes at {unit[0]} of the log; "
                "remove this queue's folder to have it rebuilt from the log"
            )
        yield unit


def is_blank(physical_offset: int, size: int) -> bool:
    return size == BLANK_SIZE and physical_offset == 0


def physical_end(unit: bytes) -> int:
    """The end of the unit's record in the log; 0 for a blank unit."""
    offset: int
    size: int
    offset, size, _ = UNIT.unpack(unit)
    return 0 if is_blank(offset, size) else offset + size


def below_count(data: bytes, physical_offset: int) -> int:
    """How many units lie below this log position. The units must be in the log's order."""
    return bisect_left(_offsets(data), physical_offset)


def ordered_count(data: bytes) -> int:
    """How many valid units at the start of `data` are in the log's order.

    A torn unit may look valid; its offset is then too low for its place.
    """
    column = _offsets(data)
    if all(map(operator.lt, column, column[1:])):
        return len(column)
    for number in range(1, len(column)):
        if column[number - 1] >= column[number]:
            position, size, _ = UNIT.unpack_from(data, number * UNIT_BYTES)
            if not is_blank(position, size):
                return number
    return len(column)


def _offsets(data: bytes) -> array[int]:
    offsets = bytearray(len(data) // UNIT_BYTES * 8)
    for byte in range(8):
        offsets[byte::8] = data[byte::UNIT_BYTES]
    column = array("q", bytes(offsets))
    column.byteswap()
    return column


def valid_count(data: bytes) -> int:
    """How many units at the start of `data` are valid.

    Reads whole columns of bytes at a time, because a queue file has 300 000 units.
    """
    data = data[: len(data) // UNIT_BYTES * UNIT_BYTES]
    offset_signs, size_signs = data[0::UNIT_BYTES], data[8::UNIT_BYTES]
    parts = [int.from_bytes(data[at::UNIT_BYTES], "little") for at in range(8, 12)]
    sizes = (parts[0] | parts[1] | parts[2] | parts[3]).to_bytes(len(size_signs), "little")
    zero = sizes.find(b"\0")
    count = len(sizes) if zero < 0 else zero
    if not (offset_signs + size_signs).isascii():
        signs = zip(offset_signs, size_signs, strict=True)
        negative = next(at for at, pair in enumerate(signs) if max(pair) > 0x7F)
        count = min(count, negative)
    return count
