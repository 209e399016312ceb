"""Tests the index of a store: keys, files, expiry, and what a crash leaves."""

from __future__ import annotations

import contextlib
from itertools import count
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.index.index import Index, extend_hash, positive
from gantrymq.store.index.index_file import HEADER, IndexSizes
from gantrymq.store.index.index_flush import IndexFlush
from gantrymq.store.read.index_lookup import KeyQuery, find_offsets
from gantrymq.testing.faulty_disk import FaultyDisk, PowerCut
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire import java_string

SIZES = IndexSizes(slots=50, entries=20)
TOPIC = b"T"


def index_on(disk: MemoryDisk | FaultyDisk, first_name: int = 20261121012644065) -> Index:
    return Index(disk, SIZES, map(str, count(first_name)).__next__)


def loaded(disk: MemoryDisk | FaultyDisk, *, is_clean: bool = True, flushed_ms: int = 0) -> Index:
    index = index_on(disk)
    index.load(is_clean=is_clean, flushed_ms=flushed_ms)
    return index


def stop(index: Index, disk: MemoryDisk | FaultyDisk) -> None:
    IndexFlush(index, MemoryBackground(disk), 0.0, LogPosition()).flush(LogPosition(1 << 60))


def offsets(index: Index, key: bytes, begin_ms: int = 0, end_ms: int = 1 << 60) -> list[int]:
    return find_offsets(index, KeyQuery(index.key_hash(TOPIC, key), 1000, begin_ms, end_ms))


def put(index: Index, number: int, keys: bytes = b"", unique_key: bytes = b"") -> None:
    index.put(TOPIC, unique_key, keys, number * 100, 1_000_000 + number * 1000)


def has_failure(index: Index) -> bool:
    return index.failure is not None


@given(st.text(st.characters(codec="utf-8"), max_size=30), st.text(max_size=10))
def test_hashes_are_those_of_java_strings(first: str, second: str) -> None:
    second_bytes = java_string.utf8_bytes(second)
    second = java_string.utf8_text(second_bytes)
    seed = extend_hash(0, first.encode())
    expected = java_string.hash_code(first + second)
    assert extend_hash(seed, second_bytes) == expected & 0xFFFFFFFF
    assert positive(expected & 0xFFFFFFFF) == (0 if expected == -(1 << 31) else abs(expected))


def test_hash_without_an_absolute_value_is_zero() -> None:
    assert positive(0x80000000) == 0
    assert positive(0xFFFFFFFF) == 1
    assert positive(0x7FFFFFFF) == 0x7FFFFFFF


def test_a_record_is_found_by_its_unique_key_and_each_of_its_keys() -> None:
    index = loaded(MemoryDisk())
    put(index, 7, b"a  b ", b"U")
    for key in (b"a", b"b", b"U"):
        assert offsets(index, key) == [700]
    assert offsets(index, b"") == []
    assert offsets(index, b"c") == []
    assert index.files[-1].count == 4


def test_a_record_without_keys_makes_no_file() -> None:
    index = loaded(MemoryDisk())
    put(index, 7)
    assert not index.files
    assert (index.end_offset, index.end_ms) == (0, 0)


def test_dispatching_again_enters_only_the_last_record_again() -> None:
    index = loaded(MemoryDisk())
    for _ in range(2):
        for number in range(5):
            put(index, number, b"k")
    assert offsets(index, b"k") == [0, 100, 200, 300, 400, 400]


def test_files_are_rolled_and_searched_newest_first() -> None:
    index = loaded(MemoryDisk())
    for number in range(100):
        put(index, number, b"k")
    assert [file.count for file in index.files] == [20, 20, 20, 20, 20, 6]
    assert offsets(index, b"k") == [number * 100 for number in range(100)]
    query = KeyQuery(index.key_hash(TOPIC, b"k"), 3, 0, 1 << 60)
    assert find_offsets(index, query) == [9700, 9800, 9900]
    assert offsets(index, b"k", 1_050_000, 1_052_000) == [5000, 5100, 5200]
    assert offsets(index, b"k", 0, 999_999) == []


def test_file_names_increase_although_the_clock_stands_still() -> None:
    disk = MemoryDisk()
    index = Index(disk, SIZES, lambda: "20261121012644065")
    index.load(is_clean=True, flushed_ms=0)
    for number in range(50):
        put(index, number, b"k")
    assert [file.name for file in index.files] == [
        "20261121012644065",
        "20261121012644066",
        "20261121012644067",
    ]


def test_after_a_crash_files_newer_than_the_checkpoint_are_deleted() -> None:
    disk = MemoryDisk()
    index = loaded(disk)
    for number in range(50):
        put(index, number, b"k")
    stop(index, disk)
    assert len(loaded(disk).files) == 3
    assert len(loaded(disk, is_clean=False, flushed_ms=1_040_000).files) == 2
    assert len(disk.list("index")) == 2


def test_headers_written_by_gantry_are_trusted_after_a_crash() -> None:
    disk = MemoryDisk()
    index = loaded(disk)
    for number in range(50):
        put(index, number, b"k")
    stop(index, disk)
    again = index_on(disk)
    again.load(is_clean=False, flushed_ms=0, trusts_headers=True)
    assert offsets(again, b"k") == offsets(index, b"k")


def test_after_a_crash_an_invalid_file_is_deleted() -> None:
    disk = MemoryDisk()
    loaded(disk)
    disk.create("index/20261121012644065").resize(10)
    raw = disk.create("index/20261121012644066")
    raw.write(0, [HEADER.pack(-1, 0, 0, 0, 0, 1)])
    raw.resize(SIZES.file_bytes)
    index = index_on(disk)
    index.load(is_clean=False, flushed_ms=0, trusts_headers=True)
    assert not index.files
    assert len(index.faults) == 2
    assert not disk.list("index")


@pytest.mark.parametrize("seed", range(20))
def test_dropped_files_never_return_without_older_ones(seed: int) -> None:
    disk = FaultyDisk(Random(seed).randrange)
    index = loaded(disk)
    for number in range(45):
        put(index, number, b"k%d" % number)
    stop(index, disk)
    disk.open(index.files[0].path).write(0, [bytes(40)])
    disk.open(index.files[0].path).sync()
    disk.crash_at = disk.operations + seed % 10 + 1
    with contextlib.suppress(PowerCut):
        index_on(disk).load(is_clean=False, flushed_ms=0, trusts_headers=True)
    after = index_on(disk.crash())
    after.load(is_clean=False, flushed_ms=0, trusts_headers=True)
    assert not after.files


def test_after_a_clean_stop_an_invalid_file_is_kept_and_reported() -> None:
    disk = MemoryDisk()
    loaded(disk)
    disk.create("index/20261121012644065").resize(10)
    disk.create("index/notes")
    index = loaded(disk)
    assert not index.files
    assert len(index.faults) == 2
    assert len(disk.list("index")) == 2


def test_partly_filled_file_is_continued_after_newer_ones_are_cut() -> None:
    disk = MemoryDisk()
    index = loaded(disk)
    for number in range(1, SIZES.entries + 2):
        put(index, number, b"k")
    stop(index, disk)
    first = index.files[0]
    header = list(HEADER.unpack(first.header()))
    header[3], header[5] = 1500, 16  # of its entries the header tells fifteen
    first.write_at(0, HEADER.pack(*header))
    again = loaded(disk)
    assert again.cut(1600)
    assert [file.name for file in again.files] == [first.name]
    put(again, 16, b"new")
    stop(again, disk)
    assert offsets(loaded(disk), b"new") == [1600]
    assert offsets(loaded(disk), b"k") == list(range(100, 1600, 100))


def test_a_file_expires_with_its_last_record_and_the_newest_stays() -> None:
    disk = MemoryDisk()
    index = loaded(disk)
    for number in range(25):
        put(index, number, b"k")
    assert index.expired_file(1 << 40) == ""  # not safe yet
    stop(index, disk)
    assert index.expired_file(1800) == ""
    path = index.expired_file(1801)
    assert path == "index/20261121012644065"
    disk.remove(path)
    assert index.expired_file(1 << 40) == ""
    assert offsets(index, b"k") == [number * 100 for number in range(19, 25)]


def test_full_disk_is_tolerated_until_too_much_is_unwritten() -> None:
    disk = FaultyDisk()
    index = loaded(disk)
    index.write_bytes, index.unwritten_bytes_max = 100, 200
    disk.memory.total_bytes = 0
    for number in range(15):
        put(index, number, b"k")
        index.write_entries()
    assert has_failure(index)
    assert index.missed == 5
    disk.memory.total_bytes = 1 << 30
    index.write_entries()
    put(index, 15, b"k")
    assert not has_failure(index)
    assert index.missed == 6  # none behind a gap: the next start goes on from the last one
    assert offsets(index, b"k") == [*range(0, 1000, 100)]


def test_clearing_removes_everything() -> None:
    disk = MemoryDisk()
    index = loaded(disk)
    for number in range(50):
        put(index, number, b"k")
    stop(index, disk)
    index.clear()
    index.close()
    assert not disk.list("index")
    put(index, 0, b"k")
    assert offsets(index, b"k") == [0]


HISTORY = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["a", "b c", "d a", ""]), st.integers(1, 9)),
        st.sampled_from(["write", "flush", "reopen"]),
    ),
    max_size=25,
)


@given(HISTORY)
def test_any_history_equals_a_dictionary(
    steps: list[str | tuple[str, int]],
) -> None:
    disk = MemoryDisk()
    index = loaded(disk)
    model: dict[bytes, list[int]] = {}
    number = 0
    for step in steps:
        if isinstance(step, tuple):
            for number in range(number, number + step[1]):  # noqa: B020
                put(index, number, step[0].encode())
                for key in step[0].encode().split():
                    model.setdefault(key, []).append(number * 100)
            number += 1
        elif step == "write":
            for file in index.files:
                file.write_entries()
        else:
            stop(index, disk)
            index = loaded(disk) if step == "reopen" else index
        for key in (b"a", b"b", b"c", b"d"):
            assert offsets(index, key) == model.get(key, [])
