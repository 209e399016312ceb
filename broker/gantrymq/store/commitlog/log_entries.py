"""Reads dispatch entries from a part of the log without decoding whole records.

A quick reader accepts what is certainly a sound record, and reads only the fields that an entry
needs. Anything else, such as the end of the data, a blank, or damage, is left to walk.py.
Invariant: where the quick reader returns an entry, `walk.look` finds the same record.

This module is written to be compiled: native integers, and no objects but the entries and their
texts. Interpreted it is correct, and about as slow as decoding the records.
"""

from __future__ import annotations

from typing import Final, final

from isal.isal_zlib import crc32
from librt.strings import read_i16_be, read_i32_be, read_i64_be
from mypy_extensions import i64

from gantrymq.store.layout import POSITION_MAX
from gantrymq.store.record.delay_levels import DelayLevels
from gantrymq.store.record.dispatch_entry import DispatchEntry, tags_code
from gantrymq.store.record.property_scan import PropertyScan
from gantrymq.store.record.walk import Found, LogItem, has_hole, look

_MAGIC_V1: Final = -626843481
_MAGIC_V2: Final = -626843477
_SMALLEST: Final = 91


@final
class LogEntries:
    """The entries of a part of the log, in its order."""

    __slots__ = ("end", "found", "stop")

    def __init__(self, found: list[DispatchEntry], end: int, stop: LogItem | None) -> None:
        self.found: list[DispatchEntry] = found
        self.end: int = end
        """The end of the last record: where to continue, unless `stop` says otherwise."""
        self.stop: LogItem | None = stop
        """What follows if it is not a record; None if the data end where a record ends."""


@final
class EntryReader:
    """Reads entries of one log, from any part of it.

    Without `verify_body` a wrong body CRC is accepted, except where a record may have been torn.
    """

    __slots__ = ("_file_bytes", "_levels", "_scan", "_topic", "_verify_body")

    def __init__(self, file_bytes: int, levels: DelayLevels, *, verify_body: bool = True) -> None:
        self._file_bytes: i64 = i64(file_bytes)
        self._levels: DelayLevels = levels
        self._verify_body: bool = verify_body
        self._scan: PropertyScan = PropertyScan()
        self._topic: bytes = b""

    def read(self, data: bytes, position: int, *, flushed: int = POSITION_MAX) -> LogEntries:
        """The records in `data`, whose log position is `position`, up to the first that is not one.

        A record below `flushed` cannot have been torn.
        """
        found: list[DispatchEntry] = []
        start: i64 = i64(position)
        mark: i64 = i64(flushed)
        end: i64 = len(data)
        at: i64 = 0
        while at < end:
            entry = self._entry(data, at, start + at, mark)
            if entry is None:
                return LogEntries(found, int(start + at), self._judge(data, at, start + at, mark))
            found.append(entry)
            at += entry.size
        return LogEntries(found, int(start + at), None)

    def _judge(self, data: bytes, at: i64, position: i64, flushed: i64) -> LogItem:
        """What lies at `data[at]`, where the quick reader found no record."""
        item = look(
            data,
            int(at),
            int(position),
            int(self._file_bytes),
            flushed=int(flushed),
            verify_body=self._verify_body,
        )
        assert item.found is not Found.RECORD, "a sound record was rejected"
        return item

    def _entry(self, data: bytes, at: i64, position: i64, flushed: i64) -> DispatchEntry | None:
        """The entry of a sound record at `data[at]`, or None."""
        room = min(len(data) - at, self._file_bytes - position % self._file_bytes)
        size = _size(data, at, room)
        if size == 0 or read_i64_be(data, at + 28) != position:
            return None
        sys_flag = i64(read_i32_be(data, at + 36))
        store_time_at: i64 = at + (68 if sys_flag & 0x10 else 56)
        body_at: i64 = store_time_at + (44 if sys_flag & 0x20 else 32)
        body_end, topic_at, topic_end = _parts(data, at, body_at, at + size)
        if topic_end == 0:
            return None
        if self._verify_body or position + size > flushed:
            crc: i64 = crc32(data[body_at:body_end]) & 0x7FFFFFFF
            if crc != i64(read_i32_be(data, at + 8)):
                return None
        topic = self._known(data[topic_at:topic_end])
        if position + size > flushed and has_hole(topic, data[topic_end + 2 : at + size]):
            return None
        scan = self._scan
        scan.read(data, topic_end + 2, at + size)
        store_ms = read_i64_be(data, store_time_at)
        return DispatchEntry(
            topic,
            i64(read_i32_be(data, at + 12)),
            read_i64_be(data, at + 20),
            position,
            size,
            tags_code=tags_code(topic, scan, store_ms, self._levels),
            unique_key=scan.unique_key,
            keys=scan.keys,
            store_timestamp_ms=store_ms,
            sys_flag=sys_flag,
            session=scan.session,
        )

    def _known(self, topic: bytes) -> bytes:
        """The previous record's topic object if it is equal, since its hash is cached."""
        if topic != self._topic:
            self._topic = topic
        return self._topic


def _size(data: bytes, at: i64, room: i64) -> i64:
    """The size of the record at `data[at]` by its header; 0 if there is none, or it does not
    fit."""
    if room < _SMALLEST:
        return 0
    size = i64(read_i32_be(data, at))
    magic = i64(read_i32_be(data, at + 4))
    if size < _SMALLEST or size > room or (magic != _MAGIC_V1 and magic != _MAGIC_V2):  # noqa: PLR1714
        return 0
    return size


def _parts(data: bytes, at: i64, body_at: i64, end: i64) -> tuple[i64, i64, i64]:
    """The ends of the body and of the topic, and the start of the topic; zeros if the lengths are
    inconsistent. In this order: body end, topic start, topic end."""
    nothing: tuple[i64, i64, i64] = (0, 0, 0)
    if body_at > end:
        return nothing
    body_end = body_at + i64(read_i32_be(data, body_at - 4))
    is_first = i64(read_i32_be(data, at + 4)) == _MAGIC_V1
    topic_at: i64 = body_end + (1 if is_first else 2)
    if body_end < body_at or topic_at > end:
        return nothing
    topic_bytes: i64 = data[body_end] if is_first else i64(read_i16_be(data, body_end))
    if topic_bytes < 0 or (is_first and topic_bytes > 127):
        return nothing
    topic_end = topic_at + topic_bytes
    if topic_end + 2 > end or topic_end + 2 + i64(read_i16_be(data, topic_end)) != end:
        return nothing
    return body_end, topic_at, topic_end
