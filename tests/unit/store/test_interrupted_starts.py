"""Tests starts that are ended at each of their operations while they lower flush positions.

The next start has to find out, and to do it once more.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import pytest

from gantrymq.base.disk import DiskError
from gantrymq.fakes.brokers.replicated import Master, Slave, bytes_of_log
from gantrymq.fakes.stores.store import OpenedStore, message
from gantrymq.store.commitlog import log_truncation
from gantrymq.store.consumequeue import queue_snapshot
from gantrymq.store.files import flush_positions
from gantrymq.store.files.segments import SyncFailedError
from gantrymq.store.read.async_reader import run
from gantrymq.store.read.lookups import messages_by_key
from gantrymq.testing.faulty_disk import Faults, FaultyDisk, PowerCut
from gantrymq.testing.unsynced import keep_all, lose_all

KILL: Final = (keep_all, False)
POWER_CUTS: Final = ((keep_all, True), (lose_all, True))

End: TypeAlias = tuple[Callable[[int], int], bool]
ENDS: Final = pytest.mark.parametrize(
    "end", [KILL, *POWER_CUTS], ids=["kill", "power cut", "power cut that takes all"]
)


def ended(disk: FaultyDisk, end: End) -> FaultyDisk:
    """The disk that the next process finds."""
    return disk.crash() if end[1] else disk.kill()


def interrupted(end: End, build: Callable[[FaultyDisk], None]) -> Iterator[FaultyDisk]:
    """Disks on which the start of a copy ended, at one operation after the other."""
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
    """Sync log, queues, index and flush positions."""
    for _ in range(4):
        opened.turn(61.0)
        opened.settle()


def remove_files(opened: OpenedStore, count: int) -> None:
    """Delete this many expired files of the log."""
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
def test_interrupted_rebuild_of_queues_is_repeated_by_the_next_start(end: End) -> None:
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


def filled(gone: int) -> Master:
    """A master whose log has lost this many expired files."""
    master = Master()
    sent(master, "T", *(0,) * 35)
    sent(master, "U", *(1,) * 35)
    flush(master)
    remove_files(master, gone)
    return master


def cut_to_nothing(disk: FaultyDisk, gone: int) -> None:
    """A copy of it that has lost this many expired files and must be copied anew."""
    slave = Slave(disk)
    copy(filled(0), slave)
    flush(slave)
    remove_files(slave, gone)
    slave.close()
    log_truncation.request(disk, log_truncation.TruncationRequest(0))


def keyed(disk: FaultyDisk, count: int) -> list[int]:
    """Write a copy of this many messages with several index files; return their log positions."""
    master, slave = Master(), Slave(disk)
    sent(master, "T", *(0,) * count)
    copy(master, slave)
    flush(slave)
    return [record.physical_offset for record in slave.records("T", 0)]


def cut_behind(disk: FaultyDisk, count: int) -> None:
    """Request a truncation after this many messages."""
    log_truncation.request(disk, log_truncation.TruncationRequest(keyed(disk, 100)[count]))


def with_one_file_of_keys(disk: FaultyDisk, count: int) -> None:
    """The newest of the rebuilt index files covers more than the first file of the log."""
    keyed(disk, count)
    for entry in disk.list("index")[1:]:
        disk.remove(f"index/{entry.name}")
    disk.sync_folder("index")


def with_a_torn_file_of_keys(disk: FaultyDisk, count: int) -> None:
    keyed(disk, count)
    file = disk.open(f"index/{disk.list('index')[1].name}")
    file.write(0, [bytes(40)])
    file.sync()


@ENDS
@pytest.mark.parametrize(
    ("harm", "count"),
    [
        pytest.param(cut_behind, 45, id="the log is cut"),
        pytest.param(cut_behind, 63, id="the log is cut further on"),
        pytest.param(with_one_file_of_keys, 36, id="files were removed"),
        pytest.param(with_a_torn_file_of_keys, 36, id="a file was torn"),
    ],
)
def test_interrupted_rebuild_of_the_index_is_repeated_by_the_next_start(
    harm: Callable[[FaultyDisk, int], None], count: int, end: End
) -> None:
    for disk in interrupted(end, lambda disk: harm(disk, count)):
        again = Slave(disk)
        records = again.records("T", 0)
        assert len(records) == count
        keys = [record.body.decode().replace("body ", "k") for record in records]
        assert [found_by_key(again, "T", key) for key in keys] == [1] * count


def found_by_key(opened: OpenedStore, topic: str, key: str) -> int:
    return len(run(messages_by_key(opened.store, topic, key, 32, 0, 1 << 60)).messages)


def assert_is_copy(master: Master, slave: Slave) -> None:
    assert slave.store.log.start == master.store.log.start
    assert slave.store.log.end == master.store.log.end
    for topic, queue_id in (("T", 0), ("U", 1)):
        records = slave.records(topic, queue_id)
        assert records == master.records(topic, queue_id)
        for record in records:
            key = record.body.decode().replace("body ", "k")
            assert found_by_key(slave, topic, key) == 1


def assert_can_be_copied(master: Master, disk: FaultyDisk) -> None:
    """Assert that the log can be copied, and stays the same over a crash and a clean stop."""
    slave = Slave(disk)
    assert slave.store.log.is_empty
    copy(master, slave)
    assert_is_copy(master, slave)
    slave.settle()
    disk = disk.crash()
    slave = Slave(disk)
    copy(master, slave)
    assert_is_copy(master, slave)
    flush(slave)
    slave.close()
    assert_is_copy(master, Slave(disk))


GONE: Final = pytest.mark.parametrize(("gone", "masters"), [(0, 1), (2, 0), (2, 2)])
"""Files of the copy's log, and of its master's, that have expired."""


@ENDS
@GONE
def test_interrupted_start_of_a_new_copy_is_repeated(end: End, gone: int, masters: int) -> None:
    master = filled(masters)
    for disk in interrupted(end, lambda disk: cut_to_nothing(disk, gone)):
        assert_can_be_copied(master, disk)


class Filling:
    """Choices of a disk that is full from the call on that has this number, until it is emptied."""

    def __init__(self, disk: FaultyDisk, number: int) -> None:
        self._disk = disk
        self._left = number
        disk.choose, disk.faults = self, Faults(no_space=1)

    def __call__(self, count: int) -> int:
        self._left -= count == 1000
        return count - 1 if self._left <= 0 else 0

    @property
    def is_full(self) -> bool:
        return self._left <= 0

    def empty(self) -> None:
        self._disk.choose, self._disk.faults = lose_all, Faults()


@GONE
@pytest.mark.parametrize("end", [KILL, POWER_CUTS[1]], ids=["kill", "power cut"])
def test_start_of_a_new_copy_is_repeated_after_a_full_disk(
    end: End, gone: int, masters: int
) -> None:
    master = filled(masters)
    was_full, number = True, 0
    while was_full:
        number += 1
        disk = FaultyDisk()
        cut_to_nothing(disk, gone)
        disk = disk.kill()
        filling = Filling(disk, number)
        with contextlib.suppress(DiskError, SyncFailedError):
            Slave(disk)
        was_full = filling.is_full
        filling.empty()
        assert_can_be_copied(master, ended(disk, end))
    assert number > 10


def begun(end: End, gone: int) -> FaultyDisk:
    """An empty copy whose log begins after this many files."""
    disk = FaultyDisk(end[0])
    cut_to_nothing(disk, gone)
    disk = disk.kill()
    Slave(disk).close()
    return disk.kill()


@ENDS
@GONE
def test_interrupted_move_of_the_start_of_the_log_is_repeated(
    end: End, gone: int, masters: int
) -> None:
    master = filled(masters)
    is_over, operations = False, 0
    while not is_over:
        operations += 1
        disk = begun(end, gone)
        slave = Slave(disk)
        disk.crash_at = disk.operations + operations
        with contextlib.suppress(PowerCut):
            copy(master, slave)
            slave.settle()
            is_over = True
        disk = ended(disk, end)
        slave = Slave(disk)
        copy(master, slave)
        assert_is_copy(master, slave)
        flush(slave)
        slave.close()
        assert_is_copy(master, Slave(disk))
    assert operations > 3


@GONE
@pytest.mark.parametrize("goes_on", [True, False])
def test_move_of_the_start_of_the_log_is_repeated_after_a_full_disk(
    gone: int, masters: int, *, goes_on: bool
) -> None:
    master = filled(masters)
    start = master.store.log.start
    was_full, number = True, 0
    while was_full:
        number += 1
        disk = begun(KILL, gone)
        slave = Slave(disk)
        filling = Filling(disk, number)
        slave.store.append_copy(start, bytes_of_log(master, start, None), slave.now)
        was_full = filling.is_full
        filling.empty()
        slave.turn(1.0)
        if not goes_on:
            disk = disk.kill()
            slave = Slave(disk)
        slave.settle()
        copy(master, slave)
        flush(slave)
        assert_is_copy(master, slave)
        slave.close()
        assert_is_copy(master, Slave(disk))
    assert number > 3


def test_start_of_the_log_does_not_move_during_a_sync_of_the_flush_positions() -> None:
    """The flush positions are synced after such a start, because there are fewer queues than
    counted."""
    master, disk = filled(1), FaultyDisk()
    cut_to_nothing(disk, 2)
    slave = Slave(disk.kill())
    slave.turn(1.5)
    assert flush_positions.PATH in [job.path for job in slave.background.jobs]
    start = master.store.log.start
    refused = slave.store.append_copy(start, bytes_of_log(master, start, None), slave.now)
    assert refused is not None
    assert not refused.is_diverged
    slave.settle()
    copy(master, slave)
    assert_is_copy(master, slave)
