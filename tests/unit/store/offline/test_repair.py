"""Tests repairs of damaged stores of Java: the rest is sound, removed parts are kept."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from gantrymq.fakes.stores.store import HOST, SYNC, OpenedStore
from gantrymq.fakes.stores.store_damage import (
    LOG,
    SECOND_LOG,
    SIDE,
    begin_repair,
    flip,
    found,
    inspect,
    poke,
    remove_tree,
    repair,
    tree,
)
from gantrymq.store.offline.repair_plan import RepairOptions, Side
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.message.record import Record

JavaStore = Callable[[str], MemoryDisk]
STORES = ["5.3.3-clean", "5.3.3-crashed", "4.9.8-clean", "4.9.8-crashed"]
QUEUE_FILE = "consumequeue/VecTopic/0/00000000000000000000"
EVERYTHING = RepairOptions(Side.OLDER, rebuild_queues=True, rebuild_index=True)


@pytest.mark.parametrize("name", STORES)
def test_rebuilt_queues_equal_those_of_java(java_store: JavaStore, name: str) -> None:
    disk = java_store(name)
    before = tree(disk, "consumequeue")
    repair(disk, RepairOptions(rebuild_queues=True))
    assert tree(disk, "consumequeue") == before
    assert tree(disk, f"{SIDE}/consumequeue") == {f"{SIDE}/{p}": d for p, d in before.items()}


@pytest.mark.parametrize("name", STORES)
def test_rebuilt_index_has_the_same_entries(java_store: JavaStore, name: str) -> None:
    disk = java_store(name)
    before = list(tree(disk, "index").values())
    repair(disk, RepairOptions(rebuild_index=True))
    assert inspect(disk).findings.is_sound
    assert list(tree(disk, "index").values()) == before


def lose_queues(disk: MemoryDisk) -> None:
    remove_tree(disk, "consumequeue")


def lose_index(disk: MemoryDisk) -> None:
    remove_tree(disk, "index")


def tear_a_long_file(disk: MemoryDisk) -> None:
    flip(disk, SECOND_LOG, 88_252 - 65_536 + 90)
    disk.open(SECOND_LOG).resize(70_000)


@pytest.mark.parametrize(
    "harm",
    [
        lose_queues,
        lose_index,
        lambda disk: flip(disk, QUEUE_FILE, 67),
        lambda disk: disk.open(QUEUE_FILE).resize(100),
        lambda disk: disk.open(QUEUE_FILE).resize(500),
        lambda disk: poke(disk, "index/20261121012644065", 40, bytes(800)),
        lambda disk: flip(disk, SECOND_LOG, 88_252 - 65_536 + 90),
        lambda disk: disk.open(SECOND_LOG).resize(60_000),
        lambda disk: disk.open(SECOND_LOG).resize(10_000),
        lambda disk: disk.open(SECOND_LOG).resize(70_000),
        lambda disk: poke(disk, LOG, 65_536, b"x" * 100),
        tear_a_long_file,
        lambda disk: disk.create("commitlog/00000000000000131072"),
        lambda disk: disk.create("commitlog/notes"),
        lambda disk: flip(disk, LOG, 497 + 90),
        lambda disk: disk.open(LOG).resize(30_000),
    ],
)
@pytest.mark.parametrize("keep", list(Side))
def test_damaged_store_is_sound_after_the_repair(
    java_store: JavaStore, harm: Callable[[MemoryDisk], object], keep: Side
) -> None:
    disk = java_store("5.3.3-clean")
    harm(disk)
    repair(disk, RepairOptions(keep))
    assert found(disk) == {}
    assert "abort" not in tree(disk)


def test_removed_parts_are_kept(java_store: JavaStore) -> None:
    disk = java_store("5.3.3-clean")
    flip(disk, LOG, 497 + 90)
    first, second = tree(disk, "commitlog").values()
    repair(disk, RepairOptions(Side.OLDER))
    kept = tree(disk, SIDE)
    assert kept[f"{SIDE}/{SECOND_LOG}"] == second
    assert kept[f"{SIDE}/{LOG}.from497"].ljust(65_536 - 497, b"\0") == first[497:]
    assert tree(disk, "commitlog") == {LOG: first[:497].ljust(65_536, b"\0")}


def test_bytes_behind_the_file_length_are_kept(java_store: JavaStore) -> None:
    disk = java_store("5.3.3-clean")
    before = tree(disk, "")
    poke(disk, LOG, 65_536, b"notes")
    repair(disk, RepairOptions())
    assert tree(disk, SIDE)[f"{SIDE}/{LOG}.from65536"] == b"notes"
    after = tree(disk, "")
    assert {path: after.get(path) for path in before if path != "checkpoint"} == {
        path: data for path, data in before.items() if path != "checkpoint"
    }


def test_queue_that_cannot_be_rebuilt_stays(java_store: JavaStore) -> None:
    """Its messages have expired, and only the queue has the next offset."""
    disk = java_store("5.3.3-clean")
    disk.remove(LOG)
    before = tree(disk, "consumequeue/VecOrder")
    repair(disk, RepairOptions(rebuild_queues=True))
    assert tree(disk, "consumequeue/VecOrder") == before
    assert inspect(disk).findings.is_sound


@pytest.mark.parametrize("stop", range(1, 20, 3))
def test_interrupted_repair_can_be_repeated(java_store: JavaStore, stop: int) -> None:
    disk = java_store("5.3.3-clean")
    flip(disk, LOG, 497 + 90)
    work = begin_repair(disk, EVERYTHING)
    for _ in itertools.islice(work, stop):
        pass
    assert "abort" in tree(disk)
    for _ in begin_repair(disk, EVERYTHING, "gantry/repair/later"):
        pass
    assert found(disk) == {}
    assert inspect(disk).log.end == 497


@pytest.mark.parametrize(
    ("path", "size"),
    [
        ("commitlog/00000000000000004096", 4090),
        ("consumequeue/T/0/00000000000000000200", 195),
    ],
)
def test_short_file_before_others_is_extended(path: str, size: int) -> None:
    disk = MemoryDisk()
    opened = OpenedStore(disk, SYNC)
    for _ in range(100):
        opened.store.put(Record(b"T", b"no tag", born_host=HOST, store_host=HOST))
    opened.turn()
    opened.settle()
    opened.close()
    disk.open(path).resize(size)
    repair(disk)
    assert inspect(disk).findings.is_sound
    assert len(OpenedStore(disk, SYNC).bodies()) == 100
