"""Checks the index against the log, in both directions, and for consistency, for offline tools.

    for each record of the log, in its order:  see(...)     compares the entries it must have
    at the end:                                finish(...)  checks the remaining entries

Entries are in the order of the log, so both are read once, side by side. The entries themselves
tell what a chain must be: an entry names the previous entry of its slot, and the slot names the
last one. One array of slots tracks that; it is the only memory needed.

These are sound: an entry that exists twice (after a crash the last record is entered again), the
time of a file's first entry, which counts from an earlier begin, and slots that are ahead of the
header after a crash.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

from gantrymq.base.disk import Disk, Entry
from gantrymq.store.files.open_files import OpenFiles
from gantrymq.store.index.index_file import (
    ENTRY,
    ENTRY_BYTES,
    HEADER,
    HEADER_BYTES,
    SECONDS_MAX,
    SLOT_BYTES,
    IndexSizes,
)
from gantrymq.store.layout import INDEX
from gantrymq.store.offline.finding import Finding, Findings, Kind, Severity
from gantrymq.store.offline.queue_inspection import LogRange

READ_ENTRIES: Final = 3276  # just under 64 KiB
READ_SLOTS: Final = 16_384
OPEN_FILES: Final = 2


@final
@dataclass(frozen=True, slots=True)
class IndexHead:
    """An index file and its header."""

    path: str
    begin_ms: int
    end_ms: int
    begin_offset: int
    end_offset: int
    used_slots: int
    count: int


@final
@dataclass(frozen=True, slots=True)
class IndexEntry:
    """An entry, with the file that has it."""

    head: IndexHead
    number: int
    key_hash: int
    offset: int
    seconds: int

    @property
    def place(self) -> str:
        return f"{self.head.path} entry {self.number}"


def read_heads(disk: Disk, sizes: IndexSizes, findings: Findings) -> list[IndexHead]:
    """The usable index files, oldest first."""
    heads: list[IndexHead] = []
    for entry in disk.list(INDEX):
        path = f"{INDEX}/{entry.name}"
        if _is_foreign(entry):
            text = "only files named by their time belong here: move it away"
            findings.error(Kind.FOREIGN, path, text)
            continue
        head = _read_head(disk, path, entry, sizes, findings)
        if head is not None:
            heads.append(head)
    return heads


def _is_foreign(entry: Entry) -> bool:
    return entry.is_folder or not (entry.name.isascii() and entry.name.isdigit())


def _read_head(
    disk: Disk, path: str, entry: Entry, sizes: IndexSizes, findings: Findings
) -> IndexHead | None:
    if entry.size != sizes.file_bytes:
        text = f"has {entry.size} bytes, not {sizes.file_bytes}"
        findings.error(Kind.INDEX_FILE, path, text)
        return None
    file = disk.open(path)
    fields = HEADER.unpack(file.read(0, HEADER_BYTES))
    file.close()
    if min(fields) < 0 or fields[5] > sizes.entries:
        findings.error(Kind.INDEX_FILE, path, f"no header of an index file: {fields}")
        return None
    head = IndexHead(path, *fields)
    return head if head.count else replace(head, count=1)  # a header that was not written yet


@final
class IndexInspection:
    """The check of all index files of one store."""

    __slots__ = (
        "_behind",
        "_entries",
        "_files",
        "_findings",
        "_log_start",
        "_next",
        "_pending_from",
        "_sizes",
        "entries",
        "foreign",
        "heads",
        "is_damaged",
        "missing",
    )

    def __init__(self, disk: Disk, sizes: IndexSizes, findings: Findings, log_start: int) -> None:
        self._files = OpenFiles(disk, OPEN_FILES)
        self._sizes = sizes
        self._findings = findings
        self._log_start = log_start
        self._behind = 0
        self._pending_from = -1
        self.is_damaged = False
        self.entries = 0
        self.missing = 0
        """The number of keys of the log that the index does not have."""
        self.foreign = [f"{INDEX}/{each.name}" for each in disk.list(INDEX) if _is_foreign(each)]
        self.heads = read_heads(disk, sizes, findings)
        self._entries: Iterator[IndexEntry] = self._all()
        self._next: IndexEntry | None = next(self._entries, None)

    def see(self, hashes: Sequence[int], position: int, store_ms: int) -> None:
        """Check the next record of the log that has keys, by their hashes."""
        entry = self._next
        while entry is not None and entry.offset < position:
            self._unwanted(entry)
            entry = next(self._entries, None)
        found: set[int] = set()
        while entry is not None and entry.offset == position:
            self._compare(entry, hashes, store_ms)
            found.add(entry.key_hash)
            entry = next(self._entries, None)
        self._next = entry
        absent = len(set(hashes) - found)
        if not absent:
            return
        if entry is None:
            self._behind += absent
            self._pending_from = position if self._pending_from < 0 else self._pending_from
            return
        self.missing += absent
        text = f"{absent} keys of the message at {position} are not in the index"
        self._findings.warn(Kind.INDEX_MISSING, INDEX, text, position)

    def finish(self, log: LogRange) -> None:
        """Check the remaining entries, which have no record. The last keys may not be entered
        yet."""
        entry = self._next
        ahead = 0
        while entry is not None:
            if entry.offset >= log.end:
                ahead += 1
            else:
                self._unwanted(entry)
            entry = next(self._entries, None)
        if ahead:
            severity = Severity.WARNING if log.is_crashed else Severity.ERROR
            text = f"{ahead} entries name records behind the log's end, {log.end}"
            self._findings.add(Finding(severity, Kind.INDEX_WRONG, INDEX, text, log.end))
            self.is_damaged = True
        if self._behind:
            text = f"{self._behind} keys, of messages from {self._pending_from} on, are not entered"
            if self._pending_from >= log.keys_from:
                self._findings.note(Kind.INDEX_PENDING, INDEX, text, self._pending_from)
            else:
                self.missing += self._behind
                self._findings.warn(Kind.INDEX_MISSING, INDEX, text, self._pending_from)

    def _compare(self, entry: IndexEntry, hashes: Sequence[int], store_ms: int) -> None:
        if entry.key_hash not in hashes:
            text = f"hash {entry.key_hash} belongs to no key of the message at {entry.offset}"
            self._wrong(entry.place, text, entry.offset)
        begin_ms = entry.head.begin_ms
        due = max(0, min((store_ms - begin_ms) // 1000, SECONDS_MAX)) if begin_ms > 0 else 0
        if entry.seconds != due and entry.number > 1:
            text = f"says {entry.seconds} s after the file's begin, the message {due} s"
            self._wrong(entry.place, text, entry.offset)
        if entry.number == 1 and begin_ms != store_ms:
            self._head(entry.head, f"beginTimestamp {begin_ms} is not its first message's")
        if entry.number == entry.head.count - 1 and entry.head.end_ms != store_ms:
            self._head(entry.head, f"endTimestamp {entry.head.end_ms} is not its last message's")

    def _unwanted(self, entry: IndexEntry) -> None:
        """Report an entry without a record that has keys, unless it is below the log's start."""
        if entry.offset >= self._log_start:
            text = f"says {entry.offset} of the log, where no message with keys is"
            self._wrong(entry.place, text, entry.offset)

    def _wrong(self, place: str, text: str, position: int) -> None:
        self.is_damaged = True
        self._findings.error(Kind.INDEX_WRONG, place, text, position)

    # ------------------------------------------------------------------ one file

    def _all(self) -> Iterator[IndexEntry]:
        """Every entry of every file. Faults of the chains are reported on the way."""
        before = 0
        for head in self.heads:
            newest = array("i", bytes(SLOT_BYTES * self._sizes.slots))
            last: IndexEntry | None = None
            for entry, previous in self._file_entries(head):
                slot = entry.key_hash % self._sizes.slots
                if entry.key_hash < 0 or previous != newest[slot]:
                    text = f"names entry {previous} as its predecessor, which is {newest[slot]}"
                    self._chain(entry.place, text)
                newest[slot] = entry.number
                if entry.offset < before:
                    text = f"names log position {entry.offset}, below that of the previous entry"
                    self._wrong(entry.place, text, entry.offset)
                before = max(before, entry.offset)
                self.entries += 1
                if last is None and head.begin_offset != entry.offset:
                    self._head(head, f"beginPhyOffset {head.begin_offset} is not its first entry's")
                last = entry
                yield entry
            if last is not None and head.end_offset != last.offset:
                self._head(head, f"endPhyOffset {head.end_offset} is not its last entry's")
            self._slots(head, newest)

    def _file_entries(self, head: IndexHead) -> Iterator[tuple[IndexEntry, int]]:
        """(entry, number of the previous one in its chain)."""
        for first in range(1, head.count, READ_ENTRIES):
            count = min(READ_ENTRIES, head.count - first)
            position = self._sizes.entry_position(first)
            data = self._files.get(head.path).read(position, count * ENTRY_BYTES)
            for number, fields in enumerate(ENTRY.iter_unpack(data), first):
                key_hash, offset, seconds, previous = fields
                yield IndexEntry(head, number, key_hash, offset, seconds), previous

    def _slots(self, head: IndexHead, newest: array[int]) -> None:
        """Check that the slots on disk name the newest entries, or ones that lead to them."""
        wrong = 0
        file = self._files.get(head.path)
        for first in range(0, self._sizes.slots, READ_SLOTS):
            count = min(READ_SLOTS, self._sizes.slots - first)
            page = array("i", file.read(self._sizes.slot_position(first), count * SLOT_BYTES))
            page.byteswap()
            if page != newest[first : first + count]:
                pairs = zip(page, newest[first : first + count], strict=True)
                wrong += sum(self._counted(head, entry) != due for entry, due in pairs)
        if wrong:
            self._chain(head.path, f"{wrong} slots do not point to their newest entry")
        used = self._sizes.slots - newest.count(0)
        if used != head.used_slots:
            self._head(head, f"hashSlotCount {head.used_slots}, but {used} slots are in use")

    def _counted(self, head: IndexHead, entry: int) -> int:
        """The newest entry of this chain that the header counts."""
        while entry >= head.count:
            at = self._sizes.entry_position(entry)
            data = self._files.get(head.path).read(at, ENTRY_BYTES)
            previous = ENTRY.unpack(data)[3] if len(data) == ENTRY_BYTES else 0
            entry = previous if previous < entry else 0
        return entry

    def _chain(self, place: str, text: str) -> None:
        self.is_damaged = True
        self._findings.error(Kind.INDEX_CHAIN, place, text)

    def _head(self, head: IndexHead, text: str) -> None:
        self.is_damaged = True
        self._findings.error(Kind.INDEX_FILE, head.path, text)
