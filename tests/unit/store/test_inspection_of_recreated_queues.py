"""Tests queues of topics that were deleted and created again, without a note of it.

Slaves and Java leave such directories. Such a queue has what the log says of the newer topic.
"""

from __future__ import annotations

from typing import Final

from hypothesis import example, given
from hypothesis import strategies as st

from gantrymq.fakes.brokers.replicated import Master, Slave, bytes_of_log
from gantrymq.fakes.stores.store import OpenedStore, message
from gantrymq.fakes.stores.store_damage import flip, inspect, remove_tree, repair, tree
from gantrymq.store.offline.finding import Kind, Severity
from gantrymq.store.offline.repair_plan import RepairOptions
from gantrymq.testing.memory_disk import MemoryDisk

QUEUES: Final = "consumequeue"
DELETED: Final = -1
ANEW: Final = (0, 0, 0, DELETED, 0, 0, 1)

steps = st.lists(st.sampled_from((DELETED, 0, 0, 0, 1)), min_size=1, max_size=20)


def closed(store: OpenedStore) -> MemoryDisk:
    """The disk after a clean stop."""
    store.settle()
    store.close()
    assert isinstance(store.disk, MemoryDisk)
    return store.disk


def sent(*steps: int) -> Master:
    """A message to each of these queues of the topic, or the topic is deleted; a last one to
    another topic."""
    master = Master(MemoryDisk())
    for step in steps:
        if step == DELETED:
            master.store.delete_topic("T")
        else:
            master.store.put(message(master.store.log.end, "T", step))
        master.turn()
    master.store.put(message(0, "Other", 0))
    master.turn()
    return master


def copied(*steps: int) -> MemoryDisk:
    """The directory of a slave that copied these sends."""
    master, slave = sent(*steps), Slave(MemoryDisk())
    begin = slave.store.begin_copy() or 0
    refused = slave.store.append_copy(begin, bytes_of_log(master, begin, None), slave.now)
    assert refused is None, refused.text
    slave.turn(0.1)
    return closed(slave)


def as_of_java(*steps: int) -> MemoryDisk:
    """The directory of a master with these sends, without Gantry's own files. Deleted queues are
    there again: otherwise they could not be told from lost ones."""
    disk = closed(sent(*steps, 0, 1))
    remove_tree(disk, "gantry")
    return disk


def units(files: dict[str, bytes]) -> dict[str, bytes]:
    """The units of each queue; the length of its files is unknown once all of them are removed."""
    queues: dict[str, bytes] = {}
    for path in sorted(files):
        folder = path.rpartition("/")[0]
        queues[folder] = queues.get(folder, b"") + files[path]
    return {folder: data.rstrip(b"\0") for folder, data in queues.items()}


def made_again(disk: MemoryDisk) -> int:
    return inspect(disk).findings.counts().get((Severity.NOTE, Kind.QUEUE_ANEW), 0)


@example(list(ANEW))
@given(steps)
def test_queues_that_began_anew_are_sound(steps: list[int]) -> None:
    for disk in (copied(*steps), as_of_java(*steps)):
        assert inspect(disk).findings.is_sound


def test_queues_that_began_anew_are_reported() -> None:
    assert made_again(copied(*ANEW)) == made_again(as_of_java(*ANEW)) == 1
    assert made_again(copied(0, 0, 1)) == 0


@example(list(ANEW))
@given(steps)
def test_rebuilt_queues_equal_the_old_ones(steps: list[int]) -> None:
    for disk in (copied(*steps), as_of_java(*steps)):
        before = tree(disk, QUEUES)
        repair(disk, RepairOptions(rebuild_queues=True))
        assert tree(disk, QUEUES) == before


def test_damaged_queues_are_rebuilt_as_they_were() -> None:
    file = f"{QUEUES}/T/0/00000000000000000000"
    for at in range(40):
        for disk in (copied(*ANEW), as_of_java(*ANEW)):
            before = tree(disk, QUEUES)
            flip(disk, file, at)
            repair(disk)
            assert tree(disk, QUEUES) == before
            assert inspect(disk).findings.is_sound


@example(list(ANEW))
@given(steps)
def test_missing_queues_are_rebuilt_as_they_were(steps: list[int]) -> None:
    for disk in (copied(*steps), as_of_java(*steps)):
        before = tree(disk, QUEUES)
        remove_tree(disk, QUEUES)
        repair(disk)
        assert inspect(disk).findings.is_sound
        assert units(tree(disk, QUEUES)) == units(before)


def test_start_after_the_repair_continues_at_the_end_of_the_queue() -> None:
    disk = copied(*ANEW)
    flip(disk, f"{QUEUES}/T/0/00000000000000000000", 0)
    repair(disk)
    again = Slave(disk)
    assert [record.queue_offset for record in again.records("T", 0)] == [0, 1]
    queue = again.store.queues.find("T", 0)
    assert queue is not None
    assert queue.end == 2
