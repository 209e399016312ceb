"""Finds the records of a pull by their units, and the records to read at once.

A unit is 20 bytes of a consume queue: `place` is its index in the units that a pull has read.
"""

from __future__ import annotations

from typing import Final

from librt.strings import read_i32_be, read_i64_be
from mypy_extensions import i64

from gantrymq.base.errors import CorruptionError
from gantrymq.store.commitlog.commitlog import CommitLog

# Records of other queues between two of this one are read along, rather than reading twice. For
# bytes in memory a second read costs only as long as copying this many bytes.
GAP_BYTES: Final = 16384
RECENT_GAP_BYTES: Final = 8192

UNIT_BYTES: Final = 20
_MAGIC_V1: Final = -626843481
_MAGIC_V2: Final = -626843477


def position_of(units: bytes, place: i64) -> i64:
    """The log position of this unit's record."""
    return read_i64_be(units, place * UNIT_BYTES)


def past_of(units: bytes, place: i64) -> i64:
    """The end of this unit's record in the log."""
    at = place * UNIT_BYTES
    return read_i64_be(units, at) + i64(read_i32_be(units, at + 8))


def neighbours(log: CommitLog, units: bytes, chosen: list[int], first: i64) -> i64:
    """The end of the range of chosen units, from `first` on, to read at once."""
    file_bytes: i64 = log.segments.file_bytes
    position, end = position_of(units, chosen[first]), past_of(units, chosen[first])
    file_end: i64 = position - position % file_bytes + file_bytes
    gap: i64 = RECENT_GAP_BYTES if position >= log.recent else GAP_BYTES
    number = first + 1
    while number < len(chosen):
        position, past = position_of(units, chosen[number]), past_of(units, chosen[number])
        if not end <= position <= end + gap or past > file_end:
            break
        end = past
        number += 1
    return number


def check_head(data: bytes, at: i64, size: i64, position: i64) -> None:
    """Raise CorruptionError if the bytes are not the record that the unit describes."""
    magic = i64(read_i32_be(data, at + 4))
    if (
        i64(read_i32_be(data, at)) != size
        or read_i64_be(data, at + 28) != position
        or (magic != _MAGIC_V1 and magic != _MAGIC_V2)  # noqa: PLR1714
    ):
        raise CorruptionError(f"the log has no record of {size} bytes at {position}")
