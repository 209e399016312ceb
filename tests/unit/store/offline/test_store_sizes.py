"""Tests how the file sizes of a store are detected from its files."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gantrymq.fakes.stores.store_damage import poke, remove_tree
from gantrymq.store.files.flush_positions import PATH as MARKS_PATH
from gantrymq.store.files.flush_positions import FlushPositions, LogPosition, Slot, encode_slot
from gantrymq.store.index.index_file import IndexSizes
from gantrymq.store.offline.finding import Findings, Kind
from gantrymq.store.offline.store_sizes import detect, newest_slot
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.memory_disk import MemoryDisk

STORES = ["5.3.3-clean", "5.3.3-crashed", "4.9.8-clean", "4.9.8-crashed"]

JavaStore = Callable[[str], MemoryDisk]


@pytest.mark.parametrize("name", STORES)
def test_file_sizes_of_java_stores_are_detected(java_store: JavaStore, name: str) -> None:
    findings = Findings()
    sizes = detect(java_store(name), {}, findings)
    assert (sizes.log_bytes, sizes.queue_bytes) == (65_536, 400)
    assert sizes.index == IndexSizes(200, 100)
    assert not findings.kept()


def test_an_empty_store_has_the_default_sizes() -> None:
    settings = StoreSettings()
    sizes = detect(MemoryDisk(), {}, Findings())
    assert sizes.log_bytes == settings.mapped_file_size_commit_log
    assert sizes.index == IndexSizes(settings.max_hash_slot_num, settings.max_index_num)


def test_given_sizes_are_used_where_no_file_shows_them() -> None:
    said = {"mappedFileSizeConsumeQueue": 390, "maxHashSlotNum": 7, "maxIndexNum": 9}
    sizes = detect(MemoryDisk(), said, Findings())
    assert sizes.queue_bytes == 400  # a multiple of 20, as Java rounds
    assert sizes.index == IndexSizes(7, 9)


def test_sizes_of_files_override_given_sizes(java_store: JavaStore) -> None:
    findings = Findings()
    sizes = detect(java_store("5.3.3-clean"), {"mappedFileSizeCommitLog": 1 << 30}, findings)
    assert sizes.log_bytes == 65_536
    assert findings.has(Kind.SIZES)


def test_flush_positions_have_the_size_of_a_shortened_only_file(java_store: JavaStore) -> None:
    disk = java_store("4.9.8-clean")
    disk.open("commitlog/00000000000000000000").resize(64_000)
    disk.make_folder("gantry")
    slot = Slot(3, FlushPositions(LogPosition(1, 0, 5)), 65_536, 400)
    disk.create(MARKS_PATH).write(4096, [encode_slot(slot)])
    assert newest_slot(disk) == slot
    assert detect(disk, {}, Findings()).log_bytes == 65_536


def test_index_files_that_fit_no_sizes_are_reported(java_store: JavaStore) -> None:
    disk = java_store("5.3.3-clean")
    for entry in disk.list("index"):
        poke(disk, f"index/{entry.name}", 24, bytes(8))
    findings = Findings()
    detect(disk, {}, findings)
    assert findings.has(Kind.SIZES)


def test_index_files_without_entries_use_the_given_sizes(java_store: JavaStore) -> None:
    disk = java_store("5.3.3-clean")
    remove_tree(disk, "index")
    disk.make_folder("index")
    disk.create("index/20261121012644065").resize(IndexSizes(10, 20).file_bytes)
    findings = Findings()
    sizes = detect(disk, {"maxHashSlotNum": 10, "maxIndexNum": 20}, findings)
    assert sizes.index == IndexSizes(10, 20)
    assert not findings.kept()
