"""Tests the plans of repairs for each kind of damage."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gantrymq.fakes.stores.store_damage import LOG, SECOND_LOG, flip, inspect, poke, tree
from gantrymq.store.offline.repair_plan import (
    Action,
    RepairOptions,
    RepairPlan,
    Side,
    is_refused,
    make_plan,
)
from gantrymq.testing.memory_disk import MemoryDisk

JavaStore = Callable[[str], MemoryDisk]
QUEUE_FILE = "consumequeue/VecTopic/0/00000000000000000000"
INDEX_FILE = "index/20261121012644065"


def plan(disk: MemoryDisk, options: RepairOptions | None = None) -> RepairPlan:
    before = tree(disk)
    made = make_plan(inspect(disk), options or RepairOptions())
    assert tree(disk) == before
    return made


def steps(made: RepairPlan) -> list[tuple[Action, str]]:
    return [(step.action, step.path) for step in made.steps]


@pytest.fixture
def disk(java_store: JavaStore) -> MemoryDisk:
    return java_store("5.3.3-clean")


@pytest.mark.parametrize("name", ["5.3.3-clean", "5.3.3-crashed", "4.9.8-clean", "4.9.8-crashed"])
def test_sound_store_needs_no_step(java_store: JavaStore, name: str) -> None:
    made = plan(java_store(name))
    assert (made.steps, made.left) == ((), ())


def test_one_damaged_queue_is_rebuilt_alone(disk: MemoryDisk) -> None:
    flip(disk, QUEUE_FILE, 67)
    assert steps(plan(disk)) == [
        (Action.MOVE, "checkpoint"),
        (Action.REBUILD_QUEUE, "consumequeue/VecTopic/0"),
    ]


def test_a_damaged_index_is_rebuilt(disk: MemoryDisk) -> None:
    flip(disk, INDEX_FILE, 30, 1)
    assert (Action.REBUILD_INDEX, "index") in steps(plan(disk))


def test_checkpoint_and_flush_positions_are_moved_aside_first(disk: MemoryDisk) -> None:
    flip(disk, SECOND_LOG, 88_252 - 65_536 + 90)
    assert steps(plan(disk))[0] == (Action.MOVE, "checkpoint")


def test_a_torn_tail_is_cut(disk: MemoryDisk) -> None:
    flip(disk, SECOND_LOG, 88_252 - 65_536 + 90)
    made = plan(disk)
    assert (Action.CUT, SECOND_LOG) in steps(made)
    assert (Action.CUT_QUEUES, "consumequeue") in steps(made)
    assert made.log_end == 88_252


def test_an_interrupted_log_waits_for_a_decision(disk: MemoryDisk) -> None:
    flip(disk, LOG, 245 + 90)
    made = plan(disk)
    assert not any(step.path.startswith("commitlog") for step in made.steps)
    assert any("--keep" in text for text in made.left)


def test_the_older_side_ends_before_the_first_break(disk: MemoryDisk) -> None:
    flip(disk, LOG, 497 + 90)
    made = plan(disk, RepairOptions(keep=Side.OLDER))
    assert steps(made)[1:3] == [(Action.MOVE, SECOND_LOG), (Action.CUT, LOG)]
    assert made.log_end == 497


def test_the_newer_side_begins_with_a_whole_file(disk: MemoryDisk) -> None:
    flip(disk, LOG, 497 + 90)
    made = plan(disk, RepairOptions(keep=Side.NEWER))
    assert steps(made)[1] == (Action.MOVE, LOG)
    assert made.log_end == 88_539


def test_the_newer_side_of_a_single_file_cannot_be_kept(java_store: JavaStore) -> None:
    disk = java_store("4.9.8-clean")
    flip(disk, LOG, 400 + 90)
    made = plan(disk, RepairOptions(keep=Side.NEWER))
    assert any("only --keep older" in text for text in made.left)


def test_missing_newest_files_wait_for_a_decision(disk: MemoryDisk) -> None:
    disk.remove(SECOND_LOG)
    for options in (RepairOptions(), RepairOptions(Side.NEWER, rebuild_queues=True)):
        made = plan(disk, options)
        assert made.steps == ()
        known = "files up to 65536 only, but the queues have messages up to 88539: mount its disk"
        assert made.left[0].startswith(f"commitlog has {known}")
    assert (Action.CUT_QUEUES, "consumequeue") in steps(plan(disk, RepairOptions(Side.OLDER)))


def test_missing_log_is_given_up_as_a_whole(disk: MemoryDisk) -> None:
    disk.remove(LOG)
    disk.remove(SECOND_LOG)
    assert plan(disk).steps == ()
    assert steps(plan(disk, RepairOptions(Side.OLDER))) == [
        (Action.MOVE, "checkpoint"),
        (Action.MOVE, "consumequeue"),
        (Action.MOVE, "index"),
    ]


def test_a_short_last_file_is_extended(disk: MemoryDisk) -> None:
    disk.open(SECOND_LOG).resize(60_000)
    assert (Action.EXTEND, SECOND_LOG) in steps(plan(disk))


def test_foreign_files_are_moved_aside(disk: MemoryDisk) -> None:
    disk.create("commitlog/notes.txt")
    assert (Action.MOVE, "commitlog/notes.txt") in steps(plan(disk))


def test_foreign_files_of_queues_and_index_are_moved_aside(disk: MemoryDisk) -> None:
    files = {"consumequeue/note", "consumequeue/VecTopic/0/note", "index/note"}
    for path in files:
        disk.create(path)
    folders = {"consumequeue/VecTopic/old", "consumequeue/VecTopic/00"}
    for path in folders:
        disk.make_folder(path)
    moved = {path for _, path in steps(plan(disk))}
    assert moved == {"checkpoint", *folders, *files}


def test_foreign_files_are_moved_aside_with_a_rebuild(disk: MemoryDisk) -> None:
    disk.create("consumequeue/VecTopic/0/note")
    disk.create("index/note")
    made = plan(disk, RepairOptions(rebuild_queues=True, rebuild_index=True))
    assert not any("note" in step.path for step in made.steps)


def test_queue_of_expired_messages_is_left(disk: MemoryDisk) -> None:
    disk.remove(LOG)
    poke(disk, "consumequeue/VecTopic/3/00000000000000000000", 0, bytes(12))
    made = plan(disk, RepairOptions(rebuild_queues=True))
    assert made.steps
    assert not any("VecTopic/3" in text for text in made.left)


def test_unknown_file_sizes_refuse_the_repair(disk: MemoryDisk) -> None:
    for entry in disk.list("index"):
        poke(disk, f"index/{entry.name}", 24, bytes(8))
    assert "-c broker.conf" in is_refused(inspect(disk))
