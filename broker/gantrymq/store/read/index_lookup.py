"""Finds log positions by key, from the newest index file and entry to the oldest.

An entry matches if it has the key's hash, and if its time, in whole seconds since the file's begin,
is in the requested range. The caller must check whether the record really has the key. In a damaged
file a lookup may find fewer positions, or positions without such a record, but it always ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final, final

from gantrymq.base.disk import DiskError
from gantrymq.store.index.index import Index
from gantrymq.store.index.index_file import ENTRY, ENTRY_BYTES, SLOT_BYTES, IndexFile
from gantrymq.store.read.async_reader import ReadTask, Wanted, fetch, run

# This takes a few milliseconds when it is not compiled.
ENTRIES_A_TURN: Final = 1024


@final
@dataclass(frozen=True, slots=True)
class KeyQuery:
    """A query for one key. Both times are wall-clock ms and inclusive."""

    key_hash: int
    count_max: int
    begin_ms: int
    end_ms: int


def lookup(index: Index, query: KeyQuery) -> ReadTask[list[int]]:
    """Log positions of records that may have the key, at most `count_max`, in ascending order."""
    found: list[int] = []
    for file in reversed(tuple(index.files)):
        if file.begin_ms <= query.end_ms and file.end_ms >= query.begin_ms:
            yield from _walk(index, file, query, found)
        if file.begin_ms < query.begin_ms or len(found) >= query.count_max:
            break
    found.sort()
    return found


def find_offsets(index: Index, query: KeyQuery) -> list[int]:
    """Do a whole lookup, waiting for the disk."""
    return run(lookup(index, query))


def _walk(index: Index, file: IndexFile, query: KeyQuery, found: list[int]) -> ReadTask[None]:
    """Follow the chain of the key's slot in one file."""
    slot = query.key_hash % file.sizes.slots
    entry = file.slot_in_memory(slot)
    if entry is None:
        data = yield from _read(index, file, file.sizes.slot_position(slot), SLOT_BYTES)
        entry = int.from_bytes(data, "big", signed=True) if len(data) == SLOT_BYTES else 0
    steps = 0
    while 0 < entry < file.count and len(found) < query.count_max:
        unit = file.entry_in_memory(entry)
        if unit is None:
            position = file.sizes.entry_position(entry)
            unit = yield from _read(index, file, position, ENTRY_BYTES)
        if len(unit) != ENTRY_BYTES:
            return  # the file was removed, or another program truncated it
        key_hash, physical_offset, seconds, previous = ENTRY.unpack(unit)
        stored_ms = file.begin_ms + seconds * 1000
        if seconds < 0 or previous >= entry:
            return  # damaged: chains only lead to older entries
        if key_hash == query.key_hash and query.begin_ms <= stored_ms <= query.end_ms:
            found.append(physical_offset)
        if stored_ms < query.begin_ms:
            return
        entry = previous
        steps += 1
        if steps % ENTRIES_A_TURN == 0:
            yield None


def _read(index: Index, file: IndexFile, position: int, size: int) -> ReadTask[bytes]:
    try:
        data = index.file(file.path).read_cached(position, size)
        if data is None:
            data = yield from fetch(Wanted(partial(index.file, file.path), position, size))
    except DiskError:
        return b""  # expired since, or unreadable: no results from this file
    return data
