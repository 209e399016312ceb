"""A start that takes something back of what its marks say, ended at each of its operations: the
next one has to find out, and to do it once more."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import pytest

from gantrymq.fakes.replicated import Master, Slave, bytes_of_log
from gantrymq.fakes.store import OpenedStore, message
from gantrymq.store import queue_snapshot
from gantrymq.testing.faulty_disk import FaultyDisk, PowerCut
from gantrymq.testing.unsynced import keep_all, lose_all

KILL: Final = (keep_all, False)
POWER_CUTS: Final = ((keep_all, True), (lose_all, True))

End: TypeAlias = tuple[Callable[[int], int], bool]
ENDS: Final = pytest.mark.parametrize(
    "end", [KILL, *POWER_CUTS], ids=["kill", "power cut", "power cut that takes all"]
)


def ended(disk: FaultyDisk, end: End) -> FaultyDisk:
    """What the next process finds."""
    return disk.crash() if end[1] else disk.kill()


def interrupted(end: End, build: Callable[[FaultyDisk], None]) -> Iterator[FaultyDisk]:
    """Disks on which a copy's start was ended, at one operation after the other."""
    operations = 0
    while True:
        operations += 1
        disk = FaultyDisk(end[0])
        build(disk)
        disk = ended(disk, end)
        disk.crash_at = disk.operations + operations
        with contextlib.suppress(PowerCut):
            Slave(disk)
            assert operations > 10
            return
        yield ended(disk, end)


def sent(master: OpenedStore, topic: str, *queue_ids: int) -> None:
    for queue_id in queue_ids:
        master.store.put(message(master.store.log.end, topic, queue_id))
        master.turn(0.01)


def copy(master: OpenedStore, slave: OpenedStore) -> None:
    begin = slave.store.begin_copy()
    begin = master.store.log.start if begin is None else begin
    refused = slave.store.append_copy(begin, bytes_of_log(master, begin, None), slave.now)
    assert refused is None, refused.text
    slave.turn(0.01)


def flush(opened: OpenedStore) -> None:
    """Log, queues, index and marks are on the disk, for good."""
    for _ in range(4):
        opened.turn(61.0)
        opened.settle()


def remove_files(opened: OpenedStore, count: int) -> None:
    """So many files of the log have expired."""
    for _ in range(count):
        assert opened.store.log.remove_first()
        opened.store.queues.raise_minimum(opened.store.log.start)
        opened.background.complete_all()
        opened.turn(0.01)
    opened.settle()


def replaced_queues(master: Master, disk: FaultyDisk) -> Slave:
    """A copy whose topic was deleted and sent to again: its first queue began anew and is on the
    disk, of the second one neither the old files are nor the new unit."""
    slave = Slave(disk)
    sent(master, "T", *(0, 1) * 16)
    copy(master, slave)
    flush(slave)
    remove_files(slave, 1)
    master.store.delete_topic("T")
    sent(master, "T", 0, 0, 0)
    sent(master, "Other", 0, 0, 0)
    copy(master, slave)
    flush(slave)
    sent(master, "T", 1)
    copy(master, slave)
    return slave


@ENDS
def test_queues_that_are_filled_from_the_logs_start_are_so_by_the_next_start_too(end: End) -> None:
    master = Master()

    def build(disk: FaultyDisk) -> None:
        nonlocal master
        master = Master()
        replaced_queues(master, disk)

    for disk in interrupted(end, build):
        again = Slave(disk)
        assert again.records("T", 0) == master.records("T", 0)
        flush(again)
        again.close()
        disk.remove(queue_snapshot.PATH)  # it goes by the queues' files
        assert Slave(disk).records("T", 0) == master.records("T", 0)
