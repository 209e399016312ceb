"""Tests that damage of index files is found."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.fakes.stores.store_damage import flip, found, inspect, poke
from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.index.index import Index
from gantrymq.store.index.index_file import IndexSizes
from gantrymq.store.index.index_flush import IndexFlush
from gantrymq.store.offline.finding import Findings, Kind, Severity
from gantrymq.store.offline.index_inspection import IndexInspection
from gantrymq.store.offline.queue_inspection import LogRange
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import MemoryDisk

ERROR, WARNING = Severity.ERROR, Severity.WARNING
FILE = "index/20261121012644065"
SMALL = IndexSizes(slots=50, entries=100)
ENTRIES = 40 + 4 * 200

JavaStore = Callable[[str], MemoryDisk]


def entry(number: int, at: int = 0) -> int:
    return ENTRIES + 20 * number + at


@pytest.mark.parametrize(
    ("harm", "kind"),
    [
        (lambda disk: flip(disk, FILE, entry(50, 3)), Kind.INDEX_WRONG),
        (lambda disk: flip(disk, FILE, entry(50, 11)), Kind.INDEX_WRONG),
        (lambda disk: flip(disk, FILE, entry(50, 15)), Kind.INDEX_WRONG),
        (lambda disk: flip(disk, FILE, entry(50, 19)), Kind.INDEX_CHAIN),
        (lambda disk: flip(disk, FILE, entry(50, 0)), Kind.INDEX_CHAIN),
        (lambda disk: poke(disk, FILE, 40, bytes(800)), Kind.INDEX_CHAIN),
        (lambda disk: flip(disk, FILE, 6, 1), Kind.INDEX_FILE),
        (lambda disk: flip(disk, FILE, 14, 1), Kind.INDEX_FILE),
        (lambda disk: flip(disk, FILE, 22, 1), Kind.INDEX_FILE),
        (lambda disk: flip(disk, FILE, 30, 1), Kind.INDEX_FILE),
        (lambda disk: flip(disk, FILE, 35, 1), Kind.INDEX_FILE),
        (lambda disk: flip(disk, FILE, 36), Kind.INDEX_FILE),
        (lambda disk: disk.open(FILE).resize(100), Kind.INDEX_FILE),
        (lambda disk: disk.create("index/notes"), Kind.FOREIGN),
    ],
)
def test_damage_is_found(
    java_store: JavaStore, harm: Callable[[MemoryDisk], object], kind: Kind
) -> None:
    disk = java_store("5.3.3-clean")
    harm(disk)
    assert found(disk).get(kind) == ERROR


def test_keys_that_are_missing_are_found(java_store: JavaStore) -> None:
    disk = java_store("5.3.3-clean")
    disk.remove(FILE)
    assert found(disk) == {Kind.INDEX_MISSING: WARNING}
    assert inspect(disk).index.missing


def test_keys_lost_by_a_crash_are_a_note(java_store: JavaStore) -> None:
    disk = java_store("5.3.3-crashed")
    disk.remove(f"index/{disk.list('index')[-1].name}")
    seen = inspect(disk)
    assert seen.findings.is_sound
    assert seen.findings.has(Kind.INDEX_PENDING, Severity.NOTE)


def test_slots_ahead_of_the_header_lead_back_to_what_it_counts(java_store: JavaStore) -> None:
    """A crash between two steps of a flush leaves such slots."""
    disk = java_store("5.3.3-crashed")
    name = f"index/{disk.list('index')[-1].name}"
    count = int.from_bytes(disk.open(name).read(36, 4), "big")
    last = disk.open(name).read(entry(count - 1), 20)
    slot = int.from_bytes(last[:4], "big") % 200
    poke(disk, name, entry(count), last[:16] + (count - 1).to_bytes(4, "big"))
    poke(disk, name, 40 + 4 * slot, count.to_bytes(4, "big"))
    assert inspect(disk).findings.is_sound


@given(number=st.integers(2, 99), at=st.integers(0, 19), bit=st.integers(0, 7))
def test_any_flipped_bit_of_an_entry_is_found(number: int, at: int, bit: int) -> None:
    disk, findings = indexed()
    flip(disk, "index/20261121012644065", SMALL.entry_position(number) + at, 1 << bit)
    assert not sees(disk, findings).is_sound


def indexed() -> tuple[MemoryDisk, Findings]:
    """A file of 99 entries, one for each of as many records of 1000 bytes, a second apart."""
    disk = MemoryDisk()
    index = Index(disk, SMALL, lambda: "20261121012644065")
    for number in range(99):
        index.put(b"T", b"%d" % number, b"", 1000 * number, 1000 * (number + 1))
    disk.make_folder("index")
    IndexFlush(index, MemoryBackground(disk), 0, LogPosition()).flush(LogPosition(99_000))
    return disk, Findings()


def sees(disk: MemoryDisk, findings: Findings) -> Findings:
    hasher = Index(disk, SMALL, lambda: "")
    inspection = IndexInspection(disk, SMALL, findings, 0)
    for number in range(99):
        key_hash = hasher.key_hash(b"T", b"%d" % number)
        inspection.see([key_hash], 1000 * number, 1000 * (number + 1))
    inspection.finish(LogRange(0, 99_000, is_crashed=False))
    return findings


def test_a_header_that_was_never_written_counts_no_entry() -> None:
    """A crash leaves such a new file if its slots were written first."""
    disk, findings = indexed()
    poke(disk, "index/20261121012644065", 0, bytes(40))
    inspection = IndexInspection(disk, SMALL, findings, 0)
    inspection.finish(LogRange(0, 99_000, is_crashed=True))
    assert inspection.entries == 0
    assert findings.kept() == []


def test_files_of_gantry_are_sound() -> None:
    assert sees(*indexed()).kept() == []
