"""Decodes a part of the log item by item, for dispatch, recovery and checks.

An item is what lies at a position: a sound record, the blank that ends a file, or neither. A record
is sound if its magic is known, its size fits into the file, its parts add up to the size, its body
matches the CRC, and it names its own position. Java writes the position but does not check it. We
do, because the remains of an earlier write may look like a record.

Above the flush position a power cut may also have torn a record whose body CRC is right: the end of
its topic or properties is missing, or whole sectors of the properties. Zeros lie above our log's
end, so the missing part reads as zeros. `has_hole` finds them, and `message_checks.py` accepts no
message that looks like that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, final

from gantrymq.base.errors import CorruptionError
from gantrymq.store.layout import POSITION_MAX
from gantrymq.wire.message.record import RECORD_BYTES_MIN, Record, decode
from gantrymq.wire.message.record_scan import BLANK_BYTES, Sight, scan

_HOLE: Final = bytes(512)  # no device writes less than this at once


class Found(Enum):
    """What lies at a position."""

    RECORD = "record"
    BLANK = "blank"
    """The rest of the file; its size leads to the next one."""
    MORE = "more"
    """A record of the given size, which the data do not contain completely."""
    NOTHING = "nothing"
    """Neither: the log ends here, or is damaged."""


@final
@dataclass(frozen=True, slots=True)
class LogItem:
    """What lies at `position`. If it is nothing, `reason` says why."""

    found: Found
    position: int
    size: int
    record: Record | None = None
    reason: str = ""


def has_hole(topic: bytes, properties: bytes) -> bool:
    """Whether a part of the topic or the properties may not have been written."""
    # A number, or `find`, is faster here: `in` with bytes first tries them as a number, and fails.
    return 0 in topic or properties.endswith(b"\0") or properties.find(_HOLE) >= 0


def walk(
    data: bytes,
    position: int,
    file_bytes: int,
    *,
    flushed: int = POSITION_MAX,
    verify_body: bool = True,
) -> Iterator[LogItem]:
    """Yield the items in `data`, which lies at `position`. The first non-record is the last.

    Records below `flushed` cannot have been torn.
    """
    at = 0
    while at < len(data):
        item = look(data, at, position + at, file_bytes, flushed=flushed, verify_body=verify_body)
        yield item
        if item.found is not Found.RECORD:
            return
        at += item.size


def look(
    data: bytes,
    at: int,
    position: int,
    file_bytes: int,
    *,
    flushed: int = POSITION_MAX,
    verify_body: bool = True,
) -> LogItem:
    """The item at `data[at]`, whose log position is `position`."""
    left = file_bytes - position % file_bytes
    if left < BLANK_BYTES:
        return LogItem(Found.NOTHING, position, 0, reason=f"only {left} bytes are left in the file")
    sight, size = scan(data, at, len(data))
    if sight is Sight.NOTHING:
        return LogItem(Found.NOTHING, position, 0, reason="no record begins here")
    if sight is Sight.BLANK:
        if size == left:
            return LogItem(Found.BLANK, position, size)
        reason = f"a blank record of {size} bytes, but {left} are left in the file"
        return LogItem(Found.NOTHING, position, 0, reason=reason)
    if size > left:
        reason = f"a record of {size} bytes, but {left} are left in the file"
        return LogItem(Found.NOTHING, position, 0, reason=reason)
    if sight is Sight.TORN:
        return LogItem(Found.MORE, position, max(size, min(RECORD_BYTES_MIN, left)))
    try:
        record = decode(data, at, verify_body=verify_body or position + size > flushed)
    except CorruptionError as error:
        return LogItem(Found.NOTHING, position, 0, reason=str(error))
    if record.physical_offset != position:
        reason = f"a record that says it lies at {record.physical_offset}"
        return LogItem(Found.NOTHING, position, 0, reason=reason)
    if position + size > flushed and has_hole(record.topic, record.properties):
        reason = "a record that was torn: its topic or properties end in zeros"
        return LogItem(Found.NOTHING, position, 0, reason=reason)
    return LogItem(Found.RECORD, position, size, record)
