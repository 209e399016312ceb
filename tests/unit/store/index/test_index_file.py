"""Tests one index file: Java's layout, chains of entries, flushes that fail and bad headers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import CorruptionError
from gantrymq.store.files.open_files import OpenFiles
from gantrymq.store.index.index_file import CHAIN_ENTRIES, ENTRY, HEADER, IndexFile, IndexSizes
from gantrymq.testing.memory_disk import MemoryDisk

SIZES = IndexSizes(slots=3000, entries=50)


def file_on(disk: MemoryDisk) -> IndexFile:
    disk.make_folder("index")
    return IndexFile(OpenFiles(disk), "index", "20261121012644065", SIZES)


def save(file: IndexFile) -> None:
    file.write_entries()
    snapshot = file.snapshot()
    snapshot.write_slots()
    snapshot.write_header()
    snapshot.confirm()


def entry(disk: MemoryDisk, number: int) -> tuple[int, int, int, int]:
    data = disk.open("index/20261121012644065").read(SIZES.entry_position(number), ENTRY.size)
    fields: tuple[int, int, int, int] = ENTRY.unpack(data)
    return fields


def test_sizes_are_javas() -> None:
    assert IndexSizes(5_000_000, 20_000_000).file_bytes == 420_000_040


def test_entries_of_a_slot_form_a_chain() -> None:
    disk = MemoryDisk()
    file = file_on(disk)
    for number, key_hash in enumerate([7, 3007, 8, 7], 1):
        file.put(key_hash, number * 100, 5000 + number * 1000)
    save(file)
    assert [entry(disk, number) for number in range(6)] == [
        (0, 0, 0, 0),
        (7, 100, 0, 0),
        (3007, 200, 1, 1),
        (8, 300, 2, 0),
        (7, 400, 3, 2),
        (0, 0, 0, 0),
    ]
    header = HEADER.unpack(disk.open(file.path).read(0, HEADER.size))
    assert header == (6000, 9000, 100, 400, 2, 5)


@pytest.mark.parametrize(
    ("stored_ms", "seconds"), [(999, 0), (1000, 0), (1999, 0), (2000, 1), (1 << 50, 0x7FFFFFFF)]
)
def test_times_are_whole_seconds_since_the_files_begin(stored_ms: int, seconds: int) -> None:
    disk = MemoryDisk()
    file = file_on(disk)
    file.put(1, 0, 1000)
    file.put(1, 1, stored_ms)
    save(file)
    assert entry(disk, 2)[2] == seconds


def test_saved_file_continues_where_it_ended() -> None:
    disk = MemoryDisk()
    file = file_on(disk)
    for number in range(10):
        file.put(number * 500, number, 1000)
    save(file)
    again = file_on(disk)
    again.load_header()
    again.load_pages()
    assert (again.count, again.used_slots, again.end_offset) == (11, 6, 9)
    again.put(500, 77, 1000)
    save(again)
    assert entry(disk, 11) == (500, 77, 0, 8)  # 3500 % 3000 came after 500


def test_nothing_is_written_before_a_flush() -> None:
    disk = MemoryDisk()
    file = file_on(disk)
    file.put(1, 2, 3)
    assert not disk.list("index")
    assert file.entry_in_memory(1) == ENTRY.pack(1, 2, 0, 0)
    assert file.slot_in_memory(1) == 1
    assert file.slot_in_memory(2000) == 0


HASHES = st.lists(st.integers(0, 40) | st.integers(0, 0x7FFFFFFF), min_size=1, max_size=49)


@given(HASHES, st.data())
def test_lookup_between_two_puts_changes_nothing(hashes: list[int], data: st.DataObject) -> None:
    seen, unseen = MemoryDisk(), MemoryDisk()
    looked_at, left_alone = file_on(seen), file_on(unseen)
    newest: dict[int, int] = {}
    for number, key_hash in enumerate(hashes, 1):
        for file in (looked_at, left_alone):
            file.put(key_hash, number, 1000)
        newest[key_hash % SIZES.slots] = number
        slot = data.draw(st.sampled_from([None, *newest]))
        if slot is not None:
            assert looked_at.slot_in_memory(slot) == newest[slot]
        if data.draw(st.booleans()):
            looked_at.write_entries()
    for file in (looked_at, left_alone):
        save(file)
        assert file.used_slots == len(newest)
    path = looked_at.path
    assert seen.open(path).read(0, SIZES.file_bytes) == unseen.open(path).read(0, SIZES.file_bytes)


def test_few_entries_wait_for_their_chain() -> None:
    sizes = IndexSizes(slots=4 * CHAIN_ENTRIES, entries=4 * CHAIN_ENTRIES)
    file = IndexFile(OpenFiles(MemoryDisk()), "index", "20261121012644065", sizes)
    for number in range(1, 3 * CHAIN_ENTRIES):
        file.put(number, number, 1000)  # each has a slot of its own
        assert number - CHAIN_ENTRIES < file.used_slots <= number


def test_dropped_file_accepts_no_entry() -> None:
    file = file_on(MemoryDisk())
    file.pages = None
    with pytest.raises(AssertionError, match="given up"):
        file.put(1, 1, 1000)


def test_slots_ahead_of_the_header_lead_to_entries_that_count() -> None:
    disk = MemoryDisk()
    file = file_on(disk)
    file.put(5, 100, 1000)
    save(file)
    file.put(5, 200, 1000)
    file.put(6, 300, 1000)
    file.write_entries()
    file.snapshot().write_slots()  # and the power fails before the header
    again = file_on(disk)
    again.load_header()
    again.load_pages()
    assert (again.count, again.slot_in_memory(5), again.slot_in_memory(6)) == (2, 1, 0)
    again.put(5, 250, 1000)
    save(again)
    assert entry(disk, 2) == (5, 250, 0, 1)


def test_next_flush_writes_what_a_failed_one_left() -> None:
    disk = MemoryDisk()
    file = file_on(disk)
    file.put(5, 100, 1000)
    file.write_entries()
    file.snapshot().give_up()
    save(file)
    again = file_on(disk)
    again.load_header()
    again.load_pages()
    assert again.slot_in_memory(5) == 1


def test_full_and_synced_file_keeps_nothing_in_memory() -> None:
    file = file_on(MemoryDisk())
    for number in range(49):
        assert not file.is_full
        file.put(number, number, 1000)
    assert file.is_full
    save(file)
    assert file.pages is None
    assert file.slot_in_memory(3) is None
    assert file.entry_in_memory(3) is None


@pytest.mark.parametrize("count", [0, -5])
def test_count_below_one_means_an_empty_file(count: int) -> None:
    disk = MemoryDisk()
    disk.make_folder("index")
    raw = disk.create("index/20261121012644065")
    raw.write(0, [HEADER.pack(0, 0, 0, 0, 0, count)])
    raw.resize(SIZES.file_bytes)
    file = file_on(disk)
    file.load_header()
    assert file.count == 1


@pytest.mark.parametrize(
    "header",
    [(0, 0, 0, 0, 0, 51), (-1, 0, 0, 0, 0, 2), (0, 0, -1, 0, 0, 2), (0, 0, 0, 0, -1, 2)],
)
def test_impossible_header_is_refused(header: tuple[int, ...]) -> None:
    disk = MemoryDisk()
    disk.make_folder("index")
    raw = disk.create("index/20261121012644065")
    raw.write(0, [HEADER.pack(*header)])
    raw.resize(SIZES.file_bytes)
    with pytest.raises(CorruptionError, match="no header"):
        file_on(disk).load_header()


def test_a_wrong_length_is_refused() -> None:
    disk = MemoryDisk()
    disk.make_folder("index")
    disk.create("index/20261121012644065").resize(100)
    with pytest.raises(CorruptionError, match="maxHashSlotNum"):
        file_on(disk).load_header()
