"""Tests the inspection and repair of stores that Gantry wrote."""

from __future__ import annotations

import pytest

from gantrymq.fakes.stores.store import OpenedStore
from gantrymq.fakes.stores.store_damage import flip, found, inspect, poke, remove_tree, tree
from gantrymq.store.offline.finding import Kind, Severity
from gantrymq.store.offline.repair import Tools, carry_out
from gantrymq.store.offline.repair_plan import RepairOptions, Side, make_plan
from gantrymq.store.record.delay_levels import DelayLevels
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import MemoryDisk, Storage


def written(storage: Storage, *, is_stopped: bool, count: int = 100) -> MemoryDisk:
    """A disk with a store of so many messages in two queues, as another process sees it."""
    disk = MemoryDisk(storage)
    opened = OpenedStore(disk)
    for number in range(count):
        opened.put(number, topic="AB"[number % 2])
        opened.turn(0.3)
        if number % 7 == 0:
            opened.settle()
    if is_stopped:
        opened.close()
    disk.end_process()
    return MemoryDisk(storage)


def repair(disk: MemoryDisk, options: RepairOptions) -> None:
    seen = inspect(disk)
    tools = Tools(
        disk, MemoryBackground(disk), seen.sizes, DelayLevels("1s"), "gantry/repair/now",
        iter(map(str, range(20261121012644065, 20261121012744065))).__next__,
    )  # fmt: skip
    for _ in carry_out(make_plan(seen, options), tools):
        pass


def test_a_store_that_was_stopped_is_sound() -> None:
    seen = inspect(written(Storage(), is_stopped=True))
    assert seen.findings.kept() == []
    assert seen.log.records == seen.queues.units == 100
    assert seen.index.entries == 200


def test_one_queue_file_of_another_length_does_not_decide_the_size() -> None:
    storage = Storage()
    disk = written(storage, is_stopped=True, count=12)
    disk.open(f"consumequeue/A/0/{0:020d}").resize(1000)
    assert inspect(disk).sizes.queue_bytes == 200
    repair(disk, RepairOptions())
    assert found(disk) == {}
    assert len(OpenedStore(MemoryDisk(storage)).bodies("B")) == 6


def test_queue_is_rebuilt_after_its_gap_is_given_up() -> None:
    """Otherwise its file of a wrong length would stay, and the queue could not be opened."""
    storage = Storage()
    disk = written(storage, is_stopped=True)
    disk.open(f"commitlog/{4096:020d}").resize(200)
    disk.open(f"consumequeue/A/0/{200:020d}").resize(46)
    disk.open(f"consumequeue/B/0/{200:020d}").resize(1000)
    repair(disk, RepairOptions(Side.OLDER))
    assert found(disk) == {}
    assert OpenedStore(MemoryDisk(storage)).bodies("A")


def test_store_without_messages_lacks_nothing() -> None:
    assert inspect(written(Storage(), is_stopped=True, count=0)).findings.is_sound


def test_missing_log_is_detected_by_queues_index_and_checkpoint() -> None:
    disk = written(Storage(), is_stopped=True)
    remove_tree(disk, "commitlog")
    known = "the queues (2), the index (11), the checkpoint, the flush positions"
    assert inspect(disk).missing == f"is not there, but messages are known to {known}"


@pytest.mark.parametrize("count", [0, 1, 7, 50, 99, 100])
def test_store_after_a_crash_needs_no_repair(count: int) -> None:
    seen = inspect(written(Storage(), is_stopped=False, count=count))
    assert seen.findings.is_sound
    assert seen.findings.has(Kind.ABORT, Severity.NOTE)


@pytest.mark.parametrize("count", [0, 1, 15, 30])
def test_queues_that_the_next_start_removes_are_no_fault(count: int) -> None:
    """A topic was deleted and recreated with this many messages; then the process was killed."""
    storage = Storage()
    disk = MemoryDisk(storage)
    opened = OpenedStore(disk)
    for number in range(25):
        opened.put(number)
        opened.turn()
    for _ in range(3):
        opened.turn(100.0)
        opened.settle()
    before = tree(disk, "consumequeue")
    opened.store.delete_topic("T")
    opened.turn()
    numbers = range(100, 100 + count)
    opened.put(*numbers)
    opened.turn()
    opened.settle()
    for path, data in before.items():  # as if nothing of it had been removed, nor written anew
        disk.make_folder(path.rpartition("/")[0])
        if path not in tree(disk, "consumequeue"):
            disk.create(path)
        poke(disk, path, 0, data)
    disk.end_process()
    assert found(MemoryDisk(storage)) == {}
    assert inspect(MemoryDisk(storage)).findings.has(Kind.QUEUE_DELETED, Severity.NOTE)
    assert OpenedStore(MemoryDisk(storage)).bodies() == [b"body %d" % each for each in numbers]


def test_lost_queue_is_rebuilt_and_the_store_opens() -> None:
    storage = Storage()
    disk = written(storage, is_stopped=True)
    remove_tree(disk, "consumequeue/A/0")
    assert found(disk) == {Kind.UNIT_MISSING: Severity.ERROR}
    repair(disk, RepairOptions())
    assert [each.name for each in disk.list("gantry")] == [
        "repair",
        "reserve",
        "sessions.0",
        "sessions.1",
    ]
    assert inspect(disk).findings.is_sound
    opened = OpenedStore(MemoryDisk(storage))
    opened.put(100, topic="A")
    opened.turn()
    assert opened.bodies("A") == [b"body %d" % number for number in range(0, 101, 2)]


@pytest.mark.parametrize("keep", list(Side))
def test_store_that_gave_up_one_side_of_a_gap_opens(keep: Side) -> None:
    storage = Storage()
    disk = written(storage, is_stopped=True)
    for entry in disk.list("commitlog"):
        path = f"commitlog/{entry.name}"
        at = disk.open(path).read(0, 4096).find(b"body 40")
        if at >= 0:
            flip(disk, path, at)
    assert Kind.LOG_DAMAGE in found(disk)
    repair(disk, RepairOptions(keep))
    assert found(disk) == {}
    opened = OpenedStore(MemoryDisk(storage))
    opened.put(100, topic="A")
    opened.turn()
    kept = [int(body.split()[1]) for body in opened.bodies("A")]
    if keep is Side.OLDER:
        assert kept == [*range(0, 40, 2), 100]
    else:
        assert kept == list(range(kept[0], 101, 2))
        assert 40 < kept[0] < 70


@pytest.mark.parametrize("count", [3, 60])
def test_missing_units_below_the_flush_position_are_an_error(count: int) -> None:
    disk = written(Storage(), is_stopped=True, count=count)
    disk.create("abort")
    remove_tree(disk, "consumequeue/A/0")
    assert found(disk)[Kind.UNIT_MISSING] == Severity.ERROR
