"""Going through a log from record to record, for dispatch, recovery and check.

A step is taken by what lies at a position: a sound record, the blank that ends a file, or neither.
Sound means: known magic, a size that fits into the file, parts that add up to it, a body that
matches its CRC, and its own position written in it. Java does not look at the last; we do, for
what an earlier write left behind may look like a record, and Java writes it right.

Above the flush mark a record may also have lost a part to a power cut without its body's CRC being
wrong: the end of its topic or properties, or whole sectors of the latter. Above our log's end lie
zeros, so the part reads as zeros; `has_hole` finds them, and `put.py` lets no such message in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, final

from gantrymq.base.errors import CorruptionError
from gantrymq.store.layout import POSITION_MAX
from gantrymq.wire.message.record import (
    BLANK_BYTES,
    RECORD_BYTES_MIN,
    Record,
    Sight,
    decode,
    scan,
)

_HOLE: Final = bytes(512)  # no device writes less than that at once


class Found(Enum):
    """What a step met."""

    RECORD = "record"
    BLANK = "blank"
    """The rest of the file; its size leads to the next one."""
    MORE = "more"
    """A record of the size given, which the bytes at hand do not hold whole."""
    NOTHING = "nothing"
    """Neither: here the log ends, or is damaged."""


@final
@dataclass(frozen=True, slots=True)
class Step:
    """What lies at `position`; `reason` says in words why there is nothing."""

    found: Found
    position: int
    size: int
    record: Record | None = None
    reason: str = ""


def has_hole(topic: bytes, properties: bytes) -> bool:
    """Whether these look as if a part of them had not been written."""
    # Looking for a number, or by `find`, is quicker: `in` first tries bytes as a number, and fails.
    return 0 in topic or properties.endswith(b"\0") or properties.find(_HOLE) >= 0


def walk(
    data: bytes,
    position: int,
    file_bytes: int,
    *,
    flushed: int = POSITION_MAX,
    verify_body: bool = True,
) -> Iterator[Step]:
    """Every step through `data`, which lies at `position`; MORE, NOTHING or BLANK is the last.

    `flushed` is the mark below which a record cannot have been torn.
    """
    at = 0
    while at < len(data):
        step = look(data, at, position + at, file_bytes, flushed=flushed, verify_body=verify_body)
        yield step
        if step.found is not Found.RECORD:
            return
        at += step.size


def look(
    data: bytes,
    at: int,
    position: int,
    file_bytes: int,
    *,
    flushed: int = POSITION_MAX,
    verify_body: bool = True,
) -> Step:
    """The step at `data[at]`, which lies at `position` of the log."""
    left = file_bytes - position % file_bytes
    if left < BLANK_BYTES:
        return Step(Found.NOTHING, position, 0, reason=f"only {left} bytes are left in the file")
    sight, size = scan(data, at, len(data))
    if sight is Sight.NOTHING:
        return Step(Found.NOTHING, position, 0, reason="no record begins here")
    if sight is Sight.BLANK:
        if size == left:
            return Step(Found.BLANK, position, size)
        reason = f"a blank record of {size} bytes, but {left} are left in the file"
        return Step(Found.NOTHING, position, 0, reason=reason)
    if size > left:
        reason = f"a record of {size} bytes, but {left} are left in the file"
        return Step(Found.NOTHING, position, 0, reason=reason)
    if sight is Sight.TORN:
        return Step(Found.MORE, position, max(size, min(RECORD_BYTES_MIN, left)))
    try:
        record = decode(data, at, verify_body=verify_body or position + size > flushed)
    except CorruptionError as error:
        return Step(Found.NOTHING, position, 0, reason=str(error))
    if record.physical_offset != position:
        reason = f"a record that says it lies at {record.physical_offset}"
        return Step(Found.NOTHING, position, 0, reason=reason)
    if position + size > flushed and has_hole(record.topic, record.properties):
        reason = "a record that was torn: its topic or properties end in zeros"
        return Step(Found.NOTHING, position, 0, reason=reason)
    return Step(Found.RECORD, position, size, record)
