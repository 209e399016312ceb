"""A walk through the files of a log, waiting for the disk: for recovery and what is offline.

It goes from record to record and from file to file, and ends at the first place where neither
a record nor a blank leads on. `mark` is then the last sound record, `stop` tells what lies where
the walk ended, None when that is the end of the last file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, final

from gantrymq.store.entries import EntryReader
from gantrymq.store.entry import Entry
from gantrymq.store.layout import POSITION_MAX
from gantrymq.store.marks import LogMark
from gantrymq.store.segments import Segments
from gantrymq.store.walk import Found, Step

CHUNK_BYTES: Final = 1 << 20


@final
class LogWalk:
    """Go through `chunks` once; then ask what it found."""

    __slots__ = ("_flushed", "_reader", "_segments", "mark", "position", "stop")

    def __init__(
        self,
        segments: Segments,
        reader: EntryReader,
        mark: LogMark,
        *,
        flushed: int = POSITION_MAX,
    ) -> None:
        """From `mark` on; below `flushed` a record cannot have been torn."""
        self._segments = segments
        self._reader = reader
        self._flushed = flushed
        self.mark = mark
        self.position = mark.position
        self.stop: Step | None = None

    def chunks(self) -> Iterator[Sequence[Entry]]:
        """The records, as many at a time as one read of the disk holds."""
        size = CHUNK_BYTES
        while self.position < self._segments.past and self.stop is None:
            data = self._segments.read(self.position, size)
            entries = self._reader.read(data, self.position, flushed=self._flushed)
            self.position = entries.end
            size = self._go_on(entries.stop)
            if entries.found:
                last = entries.found[-1]
                self.mark = LogMark(entries.end, last.physical_offset, last.store_timestamp_ms)
                yield entries.found

    def _go_on(self, stop: Step | None) -> int:
        """From where a chunk stopped; how many bytes are wanted next."""
        if stop is None:
            return CHUNK_BYTES
        if stop.found is Found.MORE:
            return max(stop.size, CHUNK_BYTES)
        if stop.found is Found.BLANK:
            self.position = stop.position + stop.size
        else:
            self.stop = stop
        return CHUNK_BYTES
