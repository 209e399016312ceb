"""Finds the parts of adjacent stored messages without making objects of them.

A batch reader gets megabytes of stored messages in one response. `walk` checks their structure
(record.py has the layout) and returns where their parts begin; the other functions collect parts of
all messages at once.

    slots      six little-endian int32 a message, and one more after the last:
               record | body | topic's length | topic | properties' length | properties
    example    one message at 0 with IPv4 hosts, body "hi", topic "T", no properties:
               0  88  90  91  92  94  | 94

Each slot is also the end of the previous one, so the slots are the offsets of an Arrow binary array
over the whole buffer.

Invariant: a walk either accounts for every byte from its first message to its end, or raises
CorruptionError. Queue offsets ascend, as they do in every queue.
"""

from __future__ import annotations

from typing import Final, final

from isal.isal_zlib import crc32
from librt.strings import (
    BytesWriter,
    read_i16_be,
    read_i32_be,
    read_i32_le,
    read_i64_be,
    write_i32_le,
)
from mypy_extensions import i32, i64

from gantrymq.base.errors import CorruptionError
from gantrymq.wire.message.record import MAGIC_V1, MAGIC_V2

SLOTS: Final = 6
"""The number of slots of each message."""

RECORD_SLOT: Final = 0
BODY_SLOT: Final = 1
TOPIC_SLOT: Final = 3
PROPERTIES_SLOT: Final = 5

BUFFER_BYTES_MAX: Final = 1 << 30
"""Positions are 32 bits wide, as in an Arrow array; no response is nearly as large."""

_SLOT_BYTES: Final = 4
_MESSAGE_BYTES: Final = 24
_RECORD_BYTES_MIN: Final = 91
_BORN_HOST_V6: Final = 0x10
_STORE_HOST_V6: Final = 0x20
_CRC_MASK: Final = 0x7FFFFFFF


@final
class FrameWalk:
    """The messages of one buffer: how many, where their parts are, and their flags combined."""

    __slots__ = ("count", "slots", "sys_flags")

    def __init__(self, count: int, slots: bytes, sys_flags: int) -> None:
        self.count: int = count
        self.slots: bytes = slots
        self.sys_flags: int = sys_flags
        """The bits that are set in any of the messages."""


def walk(buffer: bytes, first_offset: int, end_offset: int) -> FrameWalk:
    """Find the messages whose queue offset is in [first_offset, end_offset).

    Earlier messages are skipped, and the walk ends at the first later one.
    """
    size: i64 = len(buffer)
    if size > BUFFER_BYTES_MAX:
        raise CorruptionError(f"{size} bytes of messages, at most {BUFFER_BYTES_MAX} are read")
    first: i64 = first_offset
    end: i64 = end_offset
    at: i64 = 0
    before: i64 = -1
    count: i64 = 0
    sys_flags: i64 = 0
    writer = BytesWriter()
    while at < size:
        if size - at < _RECORD_BYTES_MIN:
            raise CorruptionError(f"{size - at} bytes at {at} are no message")
        offset = read_i64_be(buffer, at + 20)
        if offset <= before:
            raise CorruptionError(f"message {offset} at {at} comes behind message {before}")
        before = offset
        if offset >= end:
            break
        flags: i64 = i64(read_i32_be(buffer, at + 36))
        past = _write_slots(buffer, at, flags, size, writer)
        if offset < first:
            writer.truncate(0)
        else:
            sys_flags |= flags
            count += 1
        at = past
    write_i32_le(writer, i32(at))
    return FrameWalk(int(count), writer.getvalue(), int(sys_flags))


def _write_slots(buffer: bytes, at: i64, flags: i64, size: i64, writer: BytesWriter) -> i64:
    """Add the slots of the message at `at`; returns where the message ends."""
    total: i64 = i64(read_i32_be(buffer, at))
    magic: i64 = i64(read_i32_be(buffer, at + 4))
    version: i64 = 1
    if magic == MAGIC_V2:
        version = 2
    elif magic != MAGIC_V1:
        raise CorruptionError(f"magic {magic & 0xFFFFFFFF:08x} at {at} is unknown")
    past = at + total
    body = at + 88
    if flags & _BORN_HOST_V6:
        body += 12
    if flags & _STORE_HOST_V6:
        body += 12
    if total < _RECORD_BYTES_MIN or past > size or body > past:
        raise CorruptionError(f"size {total} at {at}, but {size - at} bytes are there")
    length: i64 = i64(read_i32_be(buffer, body - 4))
    body_end = body + length
    if length < 0 or body_end + version + 2 > past:
        raise CorruptionError(f"body length {length} at {at} is more than the message has")
    topic = body_end + version
    length = i64(buffer[body_end])
    if version == 2:
        length = length << 8 | i64(buffer[body_end + 1])
    topic_end = topic + length
    if topic_end + 2 > past:
        raise CorruptionError(f"topic length {length} at {at} is more than the message has")
    length = i64(read_i16_be(buffer, topic_end))
    if length < 0 or topic_end + 2 + length != past:
        raise CorruptionError(f"properties length {length} at {at} does not fill the message")
    write_i32_le(writer, i32(at))
    write_i32_le(writer, i32(body))
    write_i32_le(writer, i32(body_end))
    write_i32_le(writer, i32(topic))
    write_i32_le(writer, i32(topic_end))
    write_i32_le(writer, i32(topic_end + 2))
    return past


def parts(buffer: bytes, frames: FrameWalk, slot: int) -> list[bytes]:
    """The part of each message that begins at this slot."""
    slots = frames.slots
    found: list[bytes] = []
    at: i64 = slot * _SLOT_BYTES
    for _ in range(i64(frames.count)):
        start: i64 = i64(read_i32_le(slots, at))
        end: i64 = i64(read_i32_le(slots, at + _SLOT_BYTES))
        found.append(buffer[start:end])
        at += _MESSAGE_BYTES
    return found


def check_bodies(buffer: bytes, frames: FrameWalk) -> None:
    """Raise CorruptionError if a body does not match its CRC."""
    slots = frames.slots
    at: i64 = 0
    for _ in range(i64(frames.count)):
        record: i64 = i64(read_i32_le(slots, at))
        start: i64 = i64(read_i32_le(slots, at + 4))
        end: i64 = i64(read_i32_le(slots, at + 8))
        if i64(crc32(buffer[start:end])) & _CRC_MASK != i64(read_i32_be(buffer, record + 8)):
            offset = read_i64_be(buffer, record + 20)
            raise CorruptionError(
                f"the body of message {offset} at {record} does not match its CRC"
            )
        at += _MESSAGE_BYTES
