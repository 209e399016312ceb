"""Tests the search of the index in steps: cold entries, long chains and damage."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.disk import DiskError, DiskFailure
from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.index.index import Index
from gantrymq.store.index.index_file import ENTRY, IndexSizes
from gantrymq.store.index.index_flush import IndexFlush
from gantrymq.store.read.async_reader import AsyncReader, Wanted
from gantrymq.store.read.index_lookup import ENTRIES_A_TURN, KeyQuery, find_offsets, lookup
from gantrymq.store.read.read_result import Finished
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import MemoryDisk

SIZES = IndexSizes(slots=5, entries=30)
NUMBERS = st.integers(-(1 << 31), (1 << 31) - 1)


def stored_index(disk: MemoryDisk, records: int = 25, sizes: IndexSizes = SIZES) -> Index:
    """A loaded index of records 0, 100, 200... of one key, a second apart."""
    index = Index(disk, sizes, map(str, count(20261121012644065)).__next__)
    index.load(is_clean=True, flushed_ms=0)
    for number in range(records):
        index.put(b"T", b"", b"k", number * 100, 1_000_000 + number * 1000)
    IndexFlush(index, MemoryBackground(disk), 0.0, LogPosition()).flush(LogPosition(1 << 60))
    index = Index(disk, sizes, map(str, count(20301121012644065)).__next__)
    index.load(is_clean=True, flushed_ms=0)
    return index


def query(index: Index, begin_ms: int = 0, end_ms: int = 1 << 60, count_max: int = 64) -> KeyQuery:
    return KeyQuery(index.key_hash(b"T", b"k"), count_max, begin_ms, end_ms)


def test_cold_entries_are_read_one_by_one() -> None:
    disk = MemoryDisk()
    index = stored_index(disk, 35)
    disk.reads_cached = False
    background = MemoryBackground(disk)
    readings = AsyncReader(background)
    readings.start(1, lookup(index, query(index)))
    reads = 0
    while not (finished := readings.take_finished()):
        (job,) = background.jobs
        background.complete(job.ticket)
        assert readings.take(background.take_completions()[0])
        reads += 1
    assert finished == [Finished(1, [number * 100 for number in range(35)])]
    assert reads == 36  # the full file's slot, and every entry


def test_long_chain_pauses_for_other_tasks() -> None:
    index = stored_index(MemoryDisk(), 3000, IndexSizes(5, 4000))
    steps = list(lookup(index, query(index, end_ms=2_000_000, begin_ms=1_999_000)))
    assert steps == [None] * (2000 // ENTRIES_A_TURN)


def test_entry_older_than_the_query_ends_the_search() -> None:
    index = stored_index(MemoryDisk())
    assert find_offsets(index, query(index, 1_020_000)) == [2000, 2100, 2200, 2300, 2400]
    assert find_offsets(index, query(index, 1_002_000, 1_003_999)) == [200, 300]
    assert find_offsets(index, query(index, 1_002_001, 1_003_000)) == [300]


def test_file_removed_meanwhile_has_no_result() -> None:
    disk = MemoryDisk()
    index = stored_index(disk, 35)
    for entry in disk.list("index"):
        disk.remove(f"index/{entry.name}")
    index.close()
    assert find_offsets(index, query(index)) == []


def test_an_entry_that_cannot_be_read_ends_the_chain() -> None:
    disk = MemoryDisk()
    index = stored_index(disk)
    disk.reads_cached = False
    for answer in (b"", DiskError(DiskFailure.BROKEN, "read", "index")):
        walk = lookup(index, query(index))
        assert isinstance(next(walk), Wanted)
        with pytest.raises(StopIteration) as stopped:
            _ = walk.send(answer) if isinstance(answer, bytes) else walk.throw(answer)
        assert stopped.value.value == []


@given(
    st.integers(1, 25),
    st.tuples(NUMBERS, st.integers(-(1 << 63), (1 << 63) - 1), NUMBERS, NUMBERS),
    st.integers(0, 4),
    NUMBERS,
)
def test_search_ends_on_any_damage(
    entry: int, fields: tuple[int, int, int, int], slot: int, newest: int
) -> None:
    disk = MemoryDisk()
    stored_index(disk)
    file = disk.open("index/20261121012644065")
    file.write(SIZES.entry_position(entry), [ENTRY.pack(*fields)])
    file.write(SIZES.slot_position(slot), [newest.to_bytes(4, "big", signed=True)])
    index = Index(disk, SIZES, lambda: "0")
    index.load(is_clean=True, flushed_ms=0)
    found = find_offsets(index, query(index))
    assert len(found) <= 26
    assert set(found) <= {*range(0, 2500, 100), fields[1]}
