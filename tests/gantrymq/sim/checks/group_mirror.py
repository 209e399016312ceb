"""Mirrors a machine's log by reading the bytes on its disk, record by record as they come.

Each record has a digest of all of the log up to its end, so that whether two logs are equal up to a
place is a comparison of two numbers.

Invariant: queue offsets are dense in any log: of a queue each record has the one behind that of the
record before; or 0, of a topic that was deleted in between; or any, of a record that a power cut
left with a wrong bit: no sum covers where it says it belongs. Members compare such a part of a log
with a master's before they rely on it.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

from gantrymq.store.commitlog.log_entries import EntryReader
from gantrymq.store.layout import COMMIT_LOG, NAME_DIGITS, POSITION_MAX
from gantrymq.store.record.delay_levels import DelayLevels
from gantrymq.store.record.dispatch_entry import DispatchEntry
from gantrymq.store.record.walk import Found
from gantrymq.testing.memory_disk import Inode, MemoryDisk

RENEWED: Final = b"again-"
"""What the names of topics that are deleted and made again begin with."""

_LEVELS: Final = DelayLevels("1s 5s 10s 30s")


class GapError(AssertionError):
    """A record that is not the next one of its queue."""

    def __init__(self, text: str, record: tuple[int, int]) -> None:
        super().__init__(text)
        self.record = record
        """Where it begins, and a sum of its bytes."""


@final
@dataclass(frozen=True, slots=True)
class Place:
    """The topic, queue and queue offset of a record."""

    topic: bytes
    queue_id: int
    offset: int


@final
@dataclass(frozen=True, slots=True)
class Stored:
    """A record of the log."""

    start: int
    end: int
    digest: int
    """The digest of the log up to `end`."""
    key: bytes
    place: Place


@final
class Mirror:
    """The records of one machine's log, as the checks have read them."""

    __slots__ = ("_ends", "_file_bytes", "_next", "_reader", "_wrong", "read_to", "records")

    def __init__(self, file_bytes: int) -> None:
        self.records: list[Stored] = []
        self.read_to = 0
        """Up to here the log was read; behind the last record a blank may lie."""
        self._ends: list[int] = []
        self._file_bytes = file_bytes
        self._next: dict[tuple[bytes, int], int] = {}
        self._reader = EntryReader(file_bytes, _LEVELS)
        self._wrong: set[tuple[int, int]] = set()
        """Where records begin that power cuts left with a wrong bit, and sums of their bytes."""

    @property
    def end(self) -> int:
        return self._ends[-1] if self._ends else 0

    def up_to(self, end: int) -> Stored | None:
        """The record that ends here; None where none does."""
        at = bisect_left(self._ends, end)
        return self.records[at] if at < len(self._ends) and self._ends[at] == end else None

    def from_(self, start: int) -> list[Stored]:
        """The records behind this place."""
        return self.records[bisect_left(self._ends, start + 1) :]

    def at(self, start: int) -> Stored | None:
        """The record that begins here."""
        behind = self.from_(start)
        return behind[0] if behind and behind[0].start == start else None

    def ends(self) -> Iterator[tuple[str, int, int]]:
        """The queues of topics that are deleted and created again, with their next offsets."""
        for (topic, queue_id), end in self._next.items():
            if topic.startswith(RENEWED):
                yield topic.decode(), queue_id, end

    def divergence(self, other: Mirror) -> int:
        """Up to where both are equal."""
        low, high = 0, min(len(self.records), len(other.records))
        while low < high:
            middle = (low + high) // 2
            if self.records[middle].digest == other.records[middle].digest:
                low = middle + 1
            else:
                high = middle
        return self.records[low - 1].end if low else 0

    def has(self, record: Stored) -> bool:
        """Whether this log has it, and all that the other had before it."""
        own = self.up_to(record.end)
        return own is not None and own.digest == record.digest

    # ------------------------------------------------------------------ reading

    def follow(self, disk: MemoryDisk, log_end: int) -> list[Stored]:
        """The log goes on up to there; what is new."""
        first = len(self.records)
        while self.end < log_end and self._read_file(disk, log_end):
            pass
        assert self.end == log_end, f"the log ends at {log_end}, but records at {self.end}"
        return self.records[first:]

    def reread(self, disk: MemoryDisk, log_end: int) -> list[Stored]:
        """After a start: all of it again, as it is now; what is gone, or another record."""
        before = self._begin_again()
        self.follow(disk, log_end)
        return self._missing(before)

    def survey(self, disk: MemoryDisk) -> list[Stored]:
        """After a power cut: all that lies there whole, read by the check alone; what is gone."""
        before = self._begin_again()
        try:
            while self._read_file(disk, POSITION_MAX, flushed=0):
                pass
        except GapError as gap:  # a bit of it is wrong: there the log ends
            self._wrong.add(gap.record)
        return self._missing(before)

    def _begin_again(self) -> list[Stored]:
        """Nothing was read; what was before."""
        before, self.records = self.records, []
        self._ends, self._next, self.read_to = [], {}, 0
        return before

    def _missing(self, before: list[Stored]) -> list[Stored]:
        """Those of before that are not what is here now."""
        for at, (old, new) in enumerate(zip(before, self.records, strict=False)):
            if old.digest != new.digest:
                return before[at:]
        return before[len(self.records) :]

    def _read_file(self, disk: MemoryDisk, log_end: int, *, flushed: int = POSITION_MAX) -> bool:
        """What lies in the file that was read last; whether there is a next one. A record behind
        `flushed` may have been torn."""
        start = self.read_to - self.read_to % self._file_bytes
        inode = disk.find(f"{COMMIT_LOG}/{start:0{NAME_DIGITS}d}")
        if not isinstance(inode, Inode):
            return False
        end = min(log_end, start + self._file_bytes)
        data = bytes(inode.data[self.read_to - start : end - start])
        entries = self._reader.read(data, self.read_to, flushed=flushed)
        at = 0
        for entry in entries.found:
            self._add(entry, data[at : at + entry.size])
            at += entry.size
        self.read_to = entries.end
        if entries.stop is not None and entries.stop.found is Found.BLANK:
            self.read_to = start + self._file_bytes
            return True
        return self.read_to % self._file_bytes == 0 and bool(entries.found)

    def _add(self, entry: DispatchEntry, data: bytes) -> None:
        queue = entry.topic, int(entry.queue_id)
        place = Place(entry.topic, int(entry.queue_id), int(entry.queue_offset))
        wanted = self._next.get(queue, 0)
        is_anew = place.offset == 0 and entry.topic.startswith(RENEWED)
        start = int(entry.physical_offset)
        if place.offset != wanted and not is_anew:
            record = start, zlib.crc32(data)
            if record not in self._wrong:
                raise GapError(f"{place} in the log, and {wanted} should be next", record)
        self._next[queue] = place.offset + 1
        digest = zlib.crc32(data, self.records[-1].digest if self.records else 0)
        self.records.append(
            Stored(start, start + int(entry.size), digest, bytes(entry.unique_key), place)
        )
        self._ends.append(start + int(entry.size))
