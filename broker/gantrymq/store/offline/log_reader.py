"""Reads a whole log offline, sound or not: every record that is there, and every break.

The store's own recovery stops at the first thing that is not a record. This reader continues where
sound records begin again: a record names its own position, so one that is found by its magic is
hardly there by chance. What lies between is a `Break`:

    END        the log ends here, only zeros follow
    TORN       it ends here with a record that was not written completely
    LEFTOVER   it ends here, and bytes of an older history follow: Java cuts without erasing
    DAMAGE     newer records follow: what lies between was lost in place
    MISSING    newer records follow: the files between are missing

Records behind a break with a store time before the last record's are an older history, because
store times never decrease. The last event of every log is exactly one of the first three.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias, final

from gantrymq.base.disk import Disk
from gantrymq.store.commitlog.log_entries import EntryReader
from gantrymq.store.files.open_files import OpenFiles
from gantrymq.store.layout import POSITION_MAX
from gantrymq.store.offline.file_row import FileRow, RowFile
from gantrymq.store.record.delay_levels import DelayLevels
from gantrymq.store.record.dispatch_entry import DispatchEntry
from gantrymq.store.record.walk import Found, LogItem, look
from gantrymq.wire.message.record import (
    MAGIC_POSITION,
    MAGIC_V1,
    MAGIC_V2,
    PHYSICAL_OFFSET_POSITION,
    RECORD_BYTES_MIN,
    Record,
    decode,
)
from gantrymq.wire.message.record_scan import Sight, scan

READ_BYTES: Final = 1 << 20
OPEN_FILES: Final = 2
NO_LEVELS: Final = DelayLevels("")

_MAGICS: Final = tuple(magic.to_bytes(4, "big", signed=True) for magic in (MAGIC_V1, MAGIC_V2))


class Cause(Enum):
    """Why the sequence of records is interrupted."""

    END = "end"
    TORN = "torn"
    LEFTOVER = "leftover"
    DAMAGE = "damage"
    MISSING = "missing"


@final
@dataclass(frozen=True, slots=True)
class Break:
    """There is no record from `position` on. `end` is the next record, or the end of the last byte
    that is not zero."""

    cause: Cause
    position: int
    end: int
    reason: str = ""


Event: TypeAlias = DispatchEntry | Break


@final
class LogReader:
    """Reads the files of one log from the first to the last."""

    __slots__ = ("_entries", "_files", "_flushed", "_last_ms", "_row", "position")

    def __init__(
        self,
        disk: Disk,
        row: FileRow,
        levels: DelayLevels = NO_LEVELS,
        *,
        flushed: int = POSITION_MAX,
    ) -> None:
        """The levels are for the tags codes of delayed messages. Records below `flushed` cannot
        have been torn (see walk.py)."""
        self._entries = EntryReader(row.file_bytes, levels)
        self._files = OpenFiles(disk, OPEN_FILES)
        self._row = row
        self._flushed = flushed
        self._last_ms = 0
        self.position = row.first

    def events(self, start: int = 0) -> Iterator[Event]:
        """The records and the breaks between them, from the first one at or behind `start`."""
        files = self._row.files
        index, position = 0, self._row.first
        if start > position:
            index, position = self._resume(0, start) or (len(files), self._row.past)
        while index < len(files):
            stop = yield from self._sound(files[index], position)
            if stop.found is Found.BLANK:
                index += 1
                position = stop.position + stop.size
                if index == len(files):
                    break
                if files[index].start != position:
                    yield Break(Cause.MISSING, position, files[index].start)
                    position = files[index].start
                continue
            resumed = self._resume(index, stop.position + 1)
            if resumed is None:
                yield self._end(index, stop)
                return
            index, position = resumed
            yield Break(Cause.DAMAGE, stop.position, position, stop.reason)
        yield Break(Cause.END, position, position)

    def close(self) -> None:
        self._files.close()

    def record(self, entry: DispatchEntry) -> Record:
        """The whole record of an entry that was read."""
        position = int(entry.physical_offset)
        file = next(file for file in self._row.files if position < file.start + file.size)
        return decode(self._read(file, position, int(entry.size)))

    def _sound(self, file: RowFile, position: int) -> Generator[DispatchEntry, None, LogItem]:
        """The records from here on in this file; returns the item that ended them."""
        size = READ_BYTES
        while True:
            self.position = position
            data = self._read(file, position, size)
            if not data:
                return LogItem(Found.NOTHING, position, 0, reason="the file ends here")
            is_end = len(data) < size
            entries = self._entries.read(data, position, flushed=self._flushed)
            yield from entries.found
            if entries.found:
                self._last_ms = int(entries.found[-1].store_timestamp_ms)
            position, stop, size = entries.end, entries.stop, READ_BYTES
            if stop is None:
                continue
            if stop.found is not Found.MORE:
                return stop
            if is_end:
                return LogItem(Found.NOTHING, position, 0, reason="the file ends within a record")
            size = max(READ_BYTES, stop.size)

    def _read(self, file: RowFile, position: int, size: int) -> bytes:
        size = min(size, file.start + file.size - position)
        return self._files.get(file.path).read(file.at + position - file.start, size)

    # ------------------------------------------------------------------ behind a break

    def _resume(self, index: int, position: int) -> tuple[int, int] | None:
        """The index of the file, and the position, of the next record that is newer than the last
        sound one; None if there is none."""
        for number, file in enumerate(self._row.files[index:], index):
            for start in self._magics(file, max(position, file.start)):
                self.position = start
                item = self._look(file, start)
                if item.record and item.record.store_timestamp_ms >= self._last_ms:
                    return number, start
        return None

    def _magics(self, file: RowFile, position: int) -> Iterator[int]:
        """The positions, from `position` on, at which a record may begin."""
        end = file.start + file.size
        while position < end:
            data = self._read(file, position, READ_BYTES)
            if len(data) <= MAGIC_POSITION:
                return
            yield from sorted(_starts(data, position))
            is_last = position + len(data) >= end
            position = end if is_last else position + len(data) - MAGIC_POSITION - 3

    def _look(self, file: RowFile, position: int) -> LogItem:
        data = self._read(file, position, RECORD_BYTES_MIN)
        item = look(data, 0, position, self._row.file_bytes)
        if item.found is Found.MORE:
            data = self._read(file, position, item.size)
            item = look(data, 0, position, self._row.file_bytes)
        return item

    def _end(self, index: int, stop: LogItem) -> Break:
        """The break at the end of the log, with its cause."""
        position, last = stop.position, self._last_byte(index, stop.position)
        if last < position:
            return Break(Cause.END, position, position)
        file = self._row.files[index]
        data = self._read(file, position, RECORD_BYTES_MIN)
        sight, _ = scan(data, 0, len(data))
        at = data[PHYSICAL_OFFSET_POSITION : PHYSICAL_OFFSET_POSITION + 8]
        is_begun = sight in {Sight.RECORD, Sight.TORN} and len(data) == RECORD_BYTES_MIN
        is_torn = is_begun and int.from_bytes(at, "big") == position
        return Break(Cause.TORN if is_torn else Cause.LEFTOVER, position, last + 1, stop.reason)

    def _last_byte(self, index: int, position: int) -> int:
        """The position of the last byte that is not zero; below `position` if all are zero."""
        last = position - 1
        for file in self._row.files[index:]:
            at = max(position, file.start)
            while data := self._read(file, at, READ_BYTES):
                self.position = at
                if data.count(0) != len(data):
                    last = at + len(data.rstrip(b"\0")) - 1
                at += len(data)
        return last


def _starts(data: bytes, position: int) -> Iterator[int]:
    for magic in _MAGICS:
        found = data.find(magic, MAGIC_POSITION)
        while found >= 0:
            yield position + found - MAGIC_POSITION
            found = data.find(magic, found + 1)
