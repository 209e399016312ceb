"""Tests what a start does after each kind of damage and of stop."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable
from random import Random

import pytest

from gantrymq.base.disk import Disk
from gantrymq.fakes.stores.store import SETTINGS, SYNC, OpenedStore
from gantrymq.store.consumequeue.queue_snapshot import PATH as SNAPSHOT
from gantrymq.store.files.flush_positions import PATH as MARKS
from gantrymq.store.layout import StoreRefusedError
from gantrymq.store.read.async_reader import run
from gantrymq.store.read.lookups import messages_by_key
from gantrymq.testing.faulty_disk import FaultyDisk, PowerCut
from gantrymq.testing.memory_disk import MemoryDisk, Storage
from gantrymq.testing.unsynced import Chooser, keep_all, lose_all

SEEDS = 150
BODIES = [b"body %d" % number for number in range(100)]


def written(*, stop: str = "clean", seconds: float = 0.5) -> MemoryDisk:
    """Write a store of a hundred messages in five files, sync it, and stop it in this way."""
    disk = MemoryDisk()
    opened = OpenedStore(disk, SYNC)
    for number in range(100):
        opened.put(number)
        opened.turn(seconds)
        opened.settle()
    if stop == "clean":
        opened.close()
    return disk


def reopened(disk: MemoryDisk | FaultyDisk) -> OpenedStore:
    opened = OpenedStore(disk, SYNC)
    assert opened.bodies() == BODIES
    return opened


def found_by_key(opened: OpenedStore, key: str) -> int:
    return len(run(messages_by_key(opened.store, "T", key, 32, 0, 1 << 60)).messages)


def remove_tree(disk: Disk, folder: str) -> None:
    for entry in disk.list(folder):
        path = f"{folder}/{entry.name}"
        if entry.is_folder:
            remove_tree(disk, path)
        disk.remove(path)


def damage(disk: Disk, position: int, data: bytes = b"\xff" * 8) -> None:
    start = position - position % SETTINGS.mapped_file_size_commit_log
    disk.open(f"commitlog/{start:020d}").write(position - start, [data])


@pytest.mark.parametrize("seconds", [0.5, 61.0])
@pytest.mark.parametrize("stop", ["clean", "kill"])
def test_folders_removed_by_an_administrator_are_rebuilt(stop: str, seconds: float) -> None:
    for folders in (["consumequeue"], ["index"], ["consumequeue", "index"]):
        disk = written(stop=stop, seconds=seconds)
        for folder in folders:
            remove_tree(disk, folder)
        opened = reopened(disk)
        for number in (0, 50, 99):
            assert found_by_key(opened, f"k{number}") == 1
        opened.close()
        reopened(disk)


def test_queue_file_removed_by_an_administrator_is_rebuilt() -> None:
    disk = written(stop="kill", seconds=61.0)
    files = disk.list("consumequeue/T/0")
    disk.remove(f"consumequeue/T/0/{files[3].name}")
    reopened(disk)


@pytest.mark.parametrize("choose", [keep_all, lose_all])
@pytest.mark.parametrize("is_clean", [True, False])
def test_interrupted_rebuild_is_repeated(choose: Chooser, is_clean: bool) -> None:
    for operations in range(1, 40):
        disk = FaultyDisk(choose)
        opened = OpenedStore(disk, SYNC)
        opened.put(*range(100))
        for _ in range(4):
            opened.turn(100.0)
            opened.settle()
        if is_clean:
            opened.close()
            disk.remove(SNAPSHOT)  # it goes by folders, and would not miss a file
            disk.sync_folder("gantry")
        disk = disk.kill()
        disk.remove("consumequeue/T/0/00000000000000000600")
        disk.sync_folder("consumequeue/T/0")
        disk.crash_at = disk.operations + operations
        with contextlib.suppress(PowerCut):
            OpenedStore(disk, SYNC)
        assert OpenedStore(disk.crash(), SYNC).bodies() == BODIES


def test_missing_flush_positions_cost_only_time() -> None:
    for stop in ("clean", "kill"):
        disk = written(stop=stop)
        disk.remove(MARKS)
        assert not reopened(disk).store.report.is_marked


@pytest.mark.parametrize("content", [b"", b"\xff" * 40, b"\x7f" * 40])
def test_checkpoint_may_be_missing_or_wrong(content: bytes) -> None:
    for is_marked in (True, False):
        disk = written(stop="kill")
        disk.remove("checkpoint")
        if content:
            disk.create("checkpoint").write(0, [content.ljust(4096, b"\0")])
        if not is_marked:
            disk.remove(MARKS)
        reopened(disk)


def test_a_clean_start_reads_nothing_of_the_log() -> None:
    opened = reopened(written())
    assert opened.store.report.is_marked
    assert opened.store.report.walked_bytes == 0
    assert opened.store.report.rewritten_bytes == 0


def test_missing_file_in_the_middle_is_refused_with_a_remedy() -> None:
    disk = written()
    disk.remove("commitlog/00000000000000004096")
    with pytest.raises(StoreRefusedError, match=r"00000000000000004096 is missing.*store repair"):
        OpenedStore(disk, SYNC)
    assert not any(entry.name == "abort" for entry in disk.list(""))


def test_a_last_file_that_is_missing_is_refused() -> None:
    for stop in ("clean", "kill"):
        disk = written(stop=stop)
        for entry in disk.list("commitlog")[-2:]:
            disk.remove(f"commitlog/{entry.name}")
        with pytest.raises(StoreRefusedError, match=r"were on disk.*store repair"):
            OpenedStore(disk, SYNC)


def test_damage_below_the_flush_position_is_refused() -> None:
    disk = written(stop="kill")
    queue = reopened(disk).store.queues.find("T", 0)
    assert queue is not None
    damage(disk, queue.unit(70)[0] + 4)
    with pytest.raises(StoreRefusedError, match=r"damaged at .*store repair"):
        OpenedStore(disk, SYNC)


def test_torn_end_is_truncated_and_a_file_without_records_is_removed() -> None:
    disk = FaultyDisk()
    opened = OpenedStore(disk, SETTINGS)
    for number in range(60):
        opened.put(number)
        opened.turn(0.01)
    end = opened.store.log.last_record
    damage(disk, end + 4)
    disk.remove("gantry/marks")
    again = OpenedStore(disk, SETTINGS)
    assert again.bodies() == BODIES[:59]
    assert again.store.log.end == end
    assert again.store.report.end_reason
    assert again.store.log.segments.past - again.store.log.end <= 4096


def test_repeated_recovery_changes_nothing() -> None:
    disk = written(stop="kill")
    first = reopened(disk).store
    second = reopened(disk).store
    assert second.log.mark == first.log.mark
    assert second.report.walked_bytes <= first.report.walked_bytes


def test_keys_are_entered_again_from_where_the_last_whole_index_file_ends() -> None:
    disk = written(stop="kill", seconds=61.0)
    names = [entry.name for entry in disk.list("index")]
    assert len(names) > 3
    for name in names[-2:]:
        disk.open(f"index/{name}").write(0, [bytes(40)])
    opened = reopened(disk)
    for number in range(100):
        assert found_by_key(opened, f"k{number}") == found_by_key(opened, f"U{number}") == 1


@pytest.mark.parametrize("folder", ["consumequeue", "index"])
def test_folders_removed_after_a_recovery_are_rebuilt(folder: str) -> None:
    disk = written(stop="kill", seconds=61.0)
    reopened(disk)
    remove_tree(disk, folder)
    opened = reopened(disk)
    assert found_by_key(opened, "k0") == found_by_key(opened, "k99") == 1


def java_appends(disk: MemoryDisk) -> None:
    """Write other numbers into the checkpoint, as Java does when it writes a store of Gantry."""
    file = disk.open("checkpoint")
    file.write(0, [bytes(7) + b"\x09" + file.read(8, 32)])


def test_flush_positions_are_void_after_java_wrote_the_store() -> None:
    disk = written()
    java_appends(disk)
    opened = reopened(disk)
    assert not opened.store.report.is_marked
    opened.close()
    assert reopened(disk).store.report.is_marked


@pytest.mark.parametrize("again", [FaultyDisk.kill, FaultyDisk.crash])
def test_power_cut_never_makes_a_gantry_store_look_like_one_of_java(
    again: Callable[[FaultyDisk], FaultyDisk],
) -> None:
    for seed in range(SEEDS):
        disk = FaultyDisk(Random(seed).randrange, storage=Storage(1 << 20))
        for life in range(2):
            opened = OpenedStore(disk, SYNC)
            assert opened.store.report.is_marked == (life > 0)
            for number in range(10):
                opened.put(number)
                opened.turn(2.5)
                opened.background.complete_some(disk.choose)
            disk = disk.crash() if life else again(disk)
        assert OpenedStore(disk, SYNC).store.report.is_marked


def test_log_that_lost_its_end_is_refused_if_queues_prove_it() -> None:
    disk = written()
    queue = reopened(copy.deepcopy(disk)).store.queues.find("T", 0)
    assert queue is not None
    java_appends(disk)
    disk.remove(MARKS)
    damage(disk, queue.unit(97)[0], bytes(8))
    with pytest.raises(StoreRefusedError, match="store repair"):
        OpenedStore(disk, SYNC)
    assert not any(entry.name == "abort" for entry in disk.list(""))


@pytest.mark.parametrize("stop", ["clean", "kill"])
def test_log_whose_disk_is_not_mounted_is_refused(stop: str) -> None:
    for is_marked in (True, False):
        disk = written(stop=stop, seconds=61.0)
        if not is_marked:
            disk.remove(MARKS)
        remove_tree(disk, "commitlog")
        with pytest.raises(StoreRefusedError, match=r"mount the log.s disk|were on disk"):
            OpenedStore(disk, SYNC)
