"""Reads and writes one index file: a hash table of chains from keys to log positions.

    header  bytes  0-7   int64  beginTimestamp   store time of the first entry, ms
                   8-15  int64  endTimestamp     of the last
                  16-23  int64  beginPhyOffset   log position of the first entry's record
                  24-31  int64  endPhyOffset     of the last
                  32-35  int32  hashSlotCount    slots in use
                  36-39  int32  indexCount       number of the next entry; entry 0 is never used
    slots   int32 each                           number of the slot's newest entry, 0 for none
    entries 20 bytes each: int32 hash of the key | int64 log position | int32 seconds since
            beginTimestamp | int32 number of the slot's previous entry, 0 for none

A key is `topic#key`, its hash Java's made positive, its slot hash % slots. A full file has
maxIndexNum - 1 entries. A file is created with its full length.

Only the file that is being filled has slots in memory, those that are used, and its newest entries
until they are written. The slots are scattered over 20 MB, so each access waits for memory.
Therefore entries are linked into their chains many at a time, so that these waits overlap: when
CHAIN_ENTRIES are new, and before a lookup or a write. On disk an entry is synced before a slot
names it, and both before the header counts it. So the header never counts too much, and a slot that
names an uncounted entry leads, along the chain, to the newest counted one.
"""

from __future__ import annotations

import struct
from array import array
from dataclasses import dataclass
from typing import Final, final

from librt.strings import BytesWriter, write_i32_be, write_i64_be
from mypy_extensions import i32, i64, u8

from gantrymq.base.errors import CorruptionError
from gantrymq.store.files.open_files import OpenFiles

HEADER: Final = struct.Struct(">4q2i")
HEADER_BYTES: Final = HEADER.size
SLOT_BYTES: Final = 4
ENTRY: Final = struct.Struct(">iqii")
ENTRY_BYTES: Final = ENTRY.size
ENTRY_INTS: Final = 5

# Enough entries that waits overlap, and so few that a new file's memory pages do not delay a turn.
CHAIN_ENTRIES: Final = 512

SECONDS_MAX: Final = 0x7FFFFFFF

# Slots are written and kept in memory in pages of the disk's size.
PAGE_SLOTS: Final = 1024
PAGE_BYTES: Final = PAGE_SLOTS * SLOT_BYTES
LOAD_BYTES: Final = 256 * PAGE_BYTES

EMPTY_PAGE: Final = bytes(PAGE_BYTES)


@dataclass(frozen=True, slots=True)
class IndexSizes:
    """maxHashSlotNum and maxIndexNum."""

    slots: int
    entries: int

    @property
    def file_bytes(self) -> int:
        return HEADER_BYTES + SLOT_BYTES * self.slots + ENTRY_BYTES * self.entries

    def slot_position(self, slot: int) -> int:
        return HEADER_BYTES + SLOT_BYTES * slot

    def entry_position(self, entry: int) -> int:
        return HEADER_BYTES + SLOT_BYTES * self.slots + ENTRY_BYTES * entry


def _page(data: bytes) -> BytesWriter:
    """A page of slots as on disk, to be changed in place."""
    page = BytesWriter()
    page.write(data[:-1])
    page.append(data[-1])  # a single write would allocate twice the memory
    return page


def _int(data: BytesWriter, at: i64) -> i64:
    first: i64 = at << 2
    number = i64(data[first]) << 24 | i64(data[first + 1]) << 16
    number |= i64(data[first + 2]) << 8 | i64(data[first + 3])
    return number if number < 0x80000000 else number - 0x100000000


def _set_int(data: BytesWriter, at: i64, number: i64) -> None:
    first: i64 = at << 2
    data[first] = u8((number >> 24) & 0xFF)
    data[first + 1] = u8((number >> 16) & 0xFF)
    data[first + 2] = u8((number >> 8) & 0xFF)
    data[first + 3] = u8(number & 0xFF)


@final
class IndexFile:
    """One index file, owned by `Index`. `pages` is None when the file is full and synced."""

    __slots__ = (
        "_chained",
        "_entries",
        "_is_dirty",
        "_slots",
        "begin_ms",
        "begin_offset",
        "count",
        "dirty",
        "end_ms",
        "end_offset",
        "exists",
        "files",
        "name",
        "pages",
        "path",
        "saved_count",
        "sizes",
        "tail",
        "tail_start",
        "used_slots",
    )

    def __init__(self, files: OpenFiles, folder: str, name: str, sizes: IndexSizes) -> None:
        self.files: OpenFiles = files
        self.name: str = name
        self.path: str = f"{folder}/{name}"
        self.sizes: IndexSizes = sizes
        self._chained: i64 = 1  # the first entry that is not in a chain yet
        self._entries: i64 = sizes.entries
        self._slots: i64 = sizes.slots
        self.exists: bool = False
        self.begin_ms: i64 = 0
        self.end_ms: i64 = 0
        self.begin_offset: i64 = 0
        self.end_offset: i64 = 0
        self.used_slots: i64 = 0
        self.count: i64 = 1
        self.saved_count: i64 = 1  # the count in the synced header
        self.tail: BytesWriter = BytesWriter()
        self.tail_start: i64 = 1
        self.pages: list[BytesWriter | None] | None = self._no_pages()
        self.dirty: list[int] = []
        """The numbers of the pages that differ from the disk."""
        # The same as bytes, 1 for each page in `dirty`. It is small, so that a put touches little
        # memory.
        self._is_dirty: BytesWriter = BytesWriter()
        self._is_dirty.write(bytes(self._page_count))

    @property
    def is_full(self) -> bool:
        return self.count >= self._entries

    def put(self, key_hash: i64, physical_offset: i64, store_ms: i64) -> None:
        """Enter one key of a record; the file must not be full."""
        assert self.pages is not None, "an entry for a file that was given up"
        tail = self.tail
        write_i32_be(tail, i32(key_hash))
        write_i64_be(tail, physical_offset)
        write_i32_be(tail, i32(self._seconds(store_ms)))
        write_i32_be(tail, 0)  # set when the entry is linked into its chain
        count = self.count
        if count <= 1:
            self.begin_offset = physical_offset
            self.begin_ms = store_ms
        self.count = count + 1
        self.end_offset = physical_offset
        self.end_ms = store_ms
        if self.count - self._chained >= CHAIN_ENTRIES:
            self._chain()

    def _chain(self) -> None:
        """Link all new entries into the chains of their slots."""
        pages = self.pages
        assert pages is not None, "an entry for a file that was given up"
        tail = self.tail
        slots: i64 = self._slots
        number: i64 = self._chained
        count: i64 = self.count
        at: i64 = (number - self.tail_start) * ENTRY_INTS
        while number < count:
            slot: i64 = _int(tail, at) % slots
            page_number = slot >> 10
            page = pages[page_number]
            if page is None:
                page = pages[page_number] = _page(EMPTY_PAGE)
            self._note_dirty(page_number)
            previous = _int(page, slot & 1023)
            if previous <= 0 or previous > number:
                self.used_slots += 1
            else:
                _set_int(tail, at + 4, previous)
            _set_int(page, slot & 1023, number)
            number += 1
            self._chained = number  # a MemoryError before this leaves nothing half done
            at += ENTRY_INTS

    def write_entries(self) -> None:
        """Write the new entries: the first of three steps, before slots and header. The caller
        syncs."""
        if len(self.tail) == 0:
            return
        self._chain()
        self.write_at(self.sizes.entry_position(self.tail_start), self.tail.getvalue())
        self.tail_start = self.count
        self.tail = BytesWriter()

    def snapshot(self) -> IndexSnapshot:
        """The slots and the header as they are now, to be written when the entries are synced."""
        if self.pages is not None:
            self._chain()
        pages: list[tuple[int, bytes]] = []
        for number in sorted(self.dirty):
            page = None if self.pages is None else self.pages[number]
            assert page is not None, "a page that was written to"
            self._is_dirty[number] = 0
            slots_left = self.sizes.slots - number * PAGE_SLOTS
            pages.append((number, page.getvalue()[: slots_left * SLOT_BYTES]))
        self.dirty.clear()
        return IndexSnapshot(self, self.header(), pages, self.count, self.end_offset)

    def header(self) -> bytes:
        return HEADER.pack(
            self.begin_ms,
            self.end_ms,
            self.begin_offset,
            self.end_offset,
            self.used_slots,
            self.count,
        )

    def load_header(self) -> None:
        """Read the header; CorruptionError if it is impossible."""
        file = self.files.get(self.path)
        size = file.size()
        if size != self.sizes.file_bytes:
            raise CorruptionError(
                f"{self.path} has {size} bytes, not {self.sizes.file_bytes}: maxHashSlotNum and "
                "maxIndexNum must be what they were when the file was made"
            )
        fields = HEADER.unpack(file.read(0, HEADER_BYTES))
        self.begin_ms, self.end_ms, self.begin_offset, self.end_offset = fields[:4]
        self.used_slots = fields[4]
        self.count = max(1, fields[5])
        if self.count > self.sizes.entries or min(fields[:5]) < 0:
            raise CorruptionError(f"{self.path}: no header of an index file: {fields}")
        self.saved_count = self.tail_start = self._chained = self.count
        self.exists = True
        self.pages = None

    def save_header(self) -> None:
        """Write the header again, and sync it: what was read may be in the page cache only."""
        self.write_at(0, self.header())
        self.files.get(self.path).sync()

    def is_whole(self) -> bool:
        """Whether the header is not torn: it agrees with the first and the last entry."""
        file = self.files.get(self.path)
        first = file.read(self.sizes.entry_position(1), ENTRY_BYTES)
        last = file.read(self.sizes.entry_position(self.count - 1), ENTRY_BYTES)
        if self.count < 2 or len(last) != ENTRY_BYTES:
            return False
        begin_offset: int = ENTRY.unpack(first)[1]
        end_offset: int
        seconds: int
        _, end_offset, seconds, _ = ENTRY.unpack(last)
        # Java counts the first entry's seconds from the end of the previous file.
        is_time_right = self.count == 2 or seconds == self._seconds(self.end_ms)
        return is_time_right and (begin_offset, end_offset) == (self.begin_offset, self.end_offset)

    def load_pages(self) -> None:
        """Read the slots, to continue filling this file."""
        file = self.files.get(self.path)
        self.pages = pages = self._no_pages()
        slots_end = self.sizes.slot_position(self.sizes.slots)
        for position in range(HEADER_BYTES, slots_end, LOAD_BYTES):
            data = file.read(position, min(LOAD_BYTES, slots_end - position))
            for at in range(0, len(data), PAGE_BYTES):
                piece = data[at : at + PAGE_BYTES]
                if piece.count(0) != len(piece):
                    page = _page(piece.ljust(PAGE_BYTES, b"\0"))
                    number = (position - HEADER_BYTES + at) // PAGE_BYTES
                    pages[number] = page
                    self._resolve(number, page)
        if self.dirty:
            # Synced, before the entries that the slots on disk lead through are overwritten.
            self.snapshot().write_slots()
            file.sync()

    def slot_in_memory(self, slot: int) -> int | None:
        """The slot's newest entry; None if the slots are on disk only."""
        if self.pages is None:
            return None
        self._chain()
        page = self.pages[slot >> 10]
        return 0 if page is None else _int(page, slot & 1023)

    def entry_in_memory(self, entry: int) -> bytes | None:
        """An entry that a slot or a chain led to; None if it is on disk only."""
        if entry < self.tail_start:
            return None
        at = (entry - self.tail_start) * ENTRY_BYTES
        return bytes([self.tail[at + byte] for byte in range(ENTRY_BYTES)])

    def _seconds(self, store_ms: i64) -> i64:
        """Java's timeDiff: seconds since the file's begin, limited to an int32."""
        if self.begin_ms <= 0 or store_ms <= self.begin_ms:
            return 0
        seconds: i64 = (store_ms - self.begin_ms) // 1000
        return min(seconds, SECONDS_MAX)

    @property
    def _page_count(self) -> int:
        return -(-self.sizes.slots // PAGE_SLOTS)

    def _no_pages(self) -> list[BytesWriter | None]:
        return [None] * self._page_count

    def _note_dirty(self, number: i64) -> None:
        if self._is_dirty[number] == 0:
            self._is_dirty[number] = 1
            self.dirty.append(int(number))

    def give_back(self, number: int) -> None:
        """Mark this page dirty again, since a snapshot did not write it."""
        if self.pages is not None:
            self._note_dirty(number)

    def _resolve(self, number: int, page: BytesWriter) -> None:
        """Move slots that are ahead of the header back to entries that it counts."""
        column = array("i", page.getvalue())
        column.byteswap()
        if max(column) < self.count:
            return
        for at, entry in enumerate(column):
            while entry >= self.count:
                position = self.sizes.entry_position(entry)
                data = self.files.get(self.path).read(position, ENTRY_BYTES)
                before = ENTRY.unpack(data)[3] if len(data) == ENTRY_BYTES else 0
                entry = before if before < entry else 0  # noqa: PLW2901 - walks the chain
            if entry != column[at]:
                _set_int(page, at, max(0, entry))
                self._note_dirty(number)

    def write_at(self, position: int, data: bytes) -> None:
        """Write into the file, and create it at the first write."""
        if not self.exists:
            self.files.create(self.path, self.sizes.file_bytes)
            # Java takes a file without times for older than all others, and stops its search there.
            times = HEADER.pack(self.begin_ms, self.end_ms, 0, 0, 0, 1)
            self.files.get(self.path).write(0, [times])
            self.files.disk.sync_folder(self.path.rpartition("/")[0])
            self.exists = True
        self.files.get(self.path).write(position, [data])


@final
class IndexSnapshot:
    """The part of a file that one flush writes, while the file continues to be filled."""

    __slots__ = ("count", "end_offset", "file", "header", "pages")

    def __init__(
        self,
        file: IndexFile,
        header: bytes,
        pages: list[tuple[int, bytes]],
        count: int,
        end_offset: int,
    ) -> None:
        self.file = file
        self.header = header
        self.pages = pages
        self.count = count
        self.end_offset = end_offset

    def write_slots(self) -> None:
        """Write the slots; the entries that they name must be synced."""
        for number, data in self.pages:
            self.file.write_at(self.file.sizes.slot_position(number * PAGE_SLOTS), data)
        self.pages = []

    def write_header(self) -> None:
        """Write the header; the slots must be synced."""
        self.file.write_at(0, self.header)

    def give_up(self) -> None:
        """Mark what was not written as dirty again, because the flush failed."""
        for number, _ in self.pages:
            self.file.give_back(number)

    def confirm(self) -> None:
        """Note that all of it is synced. A full file drops its slots from memory."""
        file = self.file
        file.saved_count = self.count
        if file.is_full and file.saved_count == file.count:
            file.pages = None
