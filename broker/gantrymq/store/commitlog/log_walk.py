"""Walks through the records of a log's files, waiting for the disk: for recovery and offline tools.

The walk goes from record to record and from file to file. It ends at the first place with neither a
record nor a blank. `mark` is then the last sound record. `stop` says what lies where the walk
ended; it is None at the end of the last file or at the requested end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, final

from gantrymq.store.commitlog.log_entries import EntryReader
from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.files.segments import Segments
from gantrymq.store.layout import POSITION_MAX
from gantrymq.store.record.dispatch_entry import DispatchEntry
from gantrymq.store.record.walk import Found, LogItem

CHUNK_BYTES: Final = 1 << 20


@final
class LogWalk:
    """One walk. Exhaust `chunks` once, then read the results."""

    __slots__ = (
        "_before",
        "_flushed",
        "_reader",
        "_segments",
        "_until",
        "mark",
        "position",
        "stop",
    )

    def __init__(
        self,
        segments: Segments,
        reader: EntryReader,
        mark: LogPosition,
        *,
        flushed: int = POSITION_MAX,
        until: int = POSITION_MAX,
    ) -> None:
        """Start at `mark`, the end of a record. Records below `flushed` cannot have been torn."""
        self._segments = segments
        self._reader = reader
        self._flushed = flushed
        self._until = until
        self._before = mark
        """The last sound record before the last chunk."""
        self.mark = mark
        self.position = mark.position
        self.stop: LogItem | None = None

    def chunks(self) -> Iterator[Sequence[DispatchEntry]]:
        """The records, as many at a time as one read from the disk contains."""
        size = CHUNK_BYTES
        while self.position < self._past and self.stop is None:
            data = self._segments.read(self.position, min(size, self._past - self.position))
            entries = self._reader.read(data, self.position, flushed=self._flushed)
            self.position = entries.end
            size = self._go_on(entries.stop)
            if entries.found:
                self._before = self.mark
                self.mark = _behind(entries.found[-1])
                yield entries.found

    def end_before(self, entries: Sequence[DispatchEntry], at: int, reason: str) -> None:
        """End the walk before record number `at` of the last chunk, `entries`: it is not sound
        after all."""
        self.mark = _behind(entries[at - 1]) if at else self._before
        self.position = int(entries[at].physical_offset)
        self.stop = LogItem(Found.NOTHING, self.position, 0, reason=reason)

    @property
    def _past(self) -> int:
        return min(self._segments.past, self._until)

    def _go_on(self, stop: LogItem | None) -> int:
        """Continue behind a chunk; return how many bytes to read next."""
        if stop is None:
            return CHUNK_BYTES
        if stop.found is Found.MORE and stop.position + stop.size <= self._past:
            return max(stop.size, CHUNK_BYTES)
        if stop.found is Found.BLANK:
            self.position = stop.position + stop.size
        else:
            self.stop = stop
        return CHUNK_BYTES


def _behind(entry: DispatchEntry) -> LogPosition:
    """The end of this record."""
    start = int(entry.physical_offset)
    return LogPosition(start + int(entry.size), start, int(entry.store_timestamp_ms))
