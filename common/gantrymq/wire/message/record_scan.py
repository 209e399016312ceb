"""Tells what begins at a position of a commit log: a record, a blank record, or neither.

A blank record ends a log file: total size = all bytes left in the file, magic CBD43194; only these
8 bytes are written. `scan` reads only the size and the magic, with which every record begins too
(record.py has the layout); it does not verify the rest.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final

from gantrymq.base.errors import LocalError
from gantrymq.wire.message.record import MAGIC_V1, MAGIC_V2, RECORD_BYTES_MIN

MAGIC_BLANK: Final = -875286124
BLANK_BYTES: Final = 8
SIZE_AND_MAGIC: Final = struct.Struct(">ii")


class Sight(IntEnum):
    """What begins at a position, judged by its first eight bytes."""

    RECORD = 1
    """A whole record of the returned size; `decode` checks whether it is valid."""
    BLANK = 2
    """The end of a log file; the returned size reaches to the file's end."""
    TORN = 3
    """A record of the returned size that the buffer holds only in part (8: not even its head)."""
    NOTHING = 4
    """No record begins here; the returned size is 0."""


def scan(buffer: bytes, position: int, end: int) -> tuple[Sight, int]:
    """Return what begins at `position` of a log whose readable bytes end at `end`, and its size."""
    if end - position < BLANK_BYTES:
        return Sight.TORN, BLANK_BYTES
    total, magic = SIZE_AND_MAGIC.unpack_from(buffer, position)
    if magic in {MAGIC_V1, MAGIC_V2}:
        if total < RECORD_BYTES_MIN:
            return Sight.NOTHING, 0
        return (Sight.RECORD if total <= end - position else Sight.TORN), total
    if magic == MAGIC_BLANK and total >= BLANK_BYTES:
        return Sight.BLANK, total
    return Sight.NOTHING, 0


def encode_blank(left_bytes: int) -> bytes:
    """Return the blank record for the end of a log file that has `left_bytes` left."""
    if left_bytes < BLANK_BYTES:
        raise LocalError(f"a blank record needs {BLANK_BYTES} bytes, {left_bytes} are left")
    return SIZE_AND_MAGIC.pack(left_bytes, MAGIC_BLANK)
