"""Tests that a slave's log equals its master's, byte for byte, after any interruption."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from random import Random
from typing import Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gantrymq.base.disk import DiskFailure
from gantrymq.base.errors import CorruptionError, LocalError
from gantrymq.fakes.brokers.replicated import Master, Slave, bytes_of_log
from gantrymq.fakes.stores.store import SETTINGS, SYNC, message
from gantrymq.store.files.segments import SyncFailedError
from gantrymq.store.record.put_status import PutStatus, Refused
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.faulty_disk import FaultyDisk, PowerCut

TOPICS: Final = ("T", "U")
FILE_BYTES: Final = SETTINGS.mapped_file_size_commit_log
SIZE: Final = message(1).size


def filled(count: int = 90, settings: StoreSettings = SETTINGS) -> Master:
    """A log of several files with blanks at their ends."""
    master = Master(settings=settings)
    for number in range(count):
        master.put(number, topic=TOPICS[number % 2])
        master.turn()
    return master


def copy(master: Master, slave: Slave, sizes: Sequence[int] = (), end: int | None = None) -> None:
    """Send the log from the slave's position on, in pieces of these sizes, then the rest at
    once."""
    position = slave.store.begin_copy()
    if position is None:
        position = master.store.log.start
    data = bytes_of_log(master, position, end)
    for size in [*sizes, max(1, len(data))]:
        if data:
            refused = slave.store.append_copy(position, data[:size], slave.now)
            assert refused is None, refused.text
            position += len(data[:size])
            data = data[size:]
            slave.turn(0.1)


def assert_equal(master: Master, slave: Slave) -> None:
    assert slave.store.log.end == master.store.log.end
    start = slave.store.log.start
    assert bytes_of_log(slave, start, None) == bytes_of_log(master, start, None)
    for topic in TOPICS:
        theirs = [each for each in master.records(topic, 0) if each.physical_offset >= start]
        assert [each.body for each in slave.records(topic, 0)] == [each.body for each in theirs]
        assert [each.queue_offset for each in slave.records(topic, 0)] == [
            each.queue_offset for each in theirs
        ]


@pytest.fixture(scope="module")
def master_of_several() -> Master:
    """A master with several files that gets no further messages."""
    return filled()


@given(sizes=st.lists(st.integers(1, 3000), max_size=40))
def test_copied_log_is_equal_however_the_bytes_are_divided(
    master_of_several: Master, sizes: list[int]
) -> None:
    master, slave = master_of_several, Slave()
    copy(master, slave, sizes)
    assert_equal(master, slave)


def test_consumers_are_told_of_copied_messages() -> None:
    master, slave = filled(3), Slave()
    assert slave.store.append_copy(0, bytes_of_log(master, 0, None), 0.0) is None
    assert set(slave.turn().arrived) == {("T", 0), ("U", 0)}
    assert slave.store.readable == master.store.log.end


def test_record_is_stored_once_it_is_complete() -> None:
    master, slave = filled(2), Slave()
    data = bytes_of_log(master, 0, None)
    assert slave.store.append_copy(0, data[:200], 0.0) is None
    assert slave.store.log.end == SIZE
    assert slave.store.append_copy(200, data[200:], 0.0) is None
    assert slave.store.log.end == len(data)


def test_incomplete_record_is_requested_again() -> None:
    master, slave = filled(2), Slave()
    data = bytes_of_log(master, 0, None)
    slave.store.append_copy(0, data[:200], 0.0)
    assert slave.store.begin_copy() == SIZE
    with pytest.raises(LocalError):
        slave.store.append_copy(200, data[200:], 0.0)
    assert slave.store.append_copy(SIZE, data[SIZE:], 0.0) is None
    assert_equal(master, slave)


def test_empty_log_may_begin_with_any_file_of_the_master() -> None:
    disk = FaultyDisk()
    master, slave = filled(), Slave(disk)
    start = master.store.log.end - master.store.log.end % 4096
    assert slave.store.begin_copy() is None
    assert slave.store.append_copy(start, bytes_of_log(master, start, None), 0.0) is None
    slave.turn()
    assert slave.store.log.start == start
    assert_equal(master, slave)
    first = slave.store.queues.find("T", 0)
    assert first is not None
    assert first.minimum > 0
    slave.settle()
    slave.close()
    again = Slave(disk)
    assert again.store.report.is_clean
    assert_equal(master, again)


def test_a_power_cut_while_the_log_begins_changes_nothing(master_of_several: Master) -> None:
    master = master_of_several
    start = master.store.log.end - master.store.log.end % 4096
    for at in range(1, 20):
        for is_killed in (True, False):
            disk = FaultyDisk()
            slave = Slave(disk)
            disk.crash_at = disk.operations + at
            with suppress(PowerCut):
                slave.store.append_copy(start, bytes_of_log(master, start, None), 0.0)
                slave.settle()
            survivor = Slave(disk.kill() if is_killed else disk.crash())
            copy_rest(master, survivor)
            assert_equal(master, survivor)


def test_a_log_that_begins_inside_a_file_is_refused() -> None:
    master, slave = filled(), Slave()
    refused = slave.store.append_copy(SIZE, bytes_of_log(master, SIZE, None), 0.0)
    assert refused is not None
    assert refused.is_diverged
    assert "mappedFileSizeCommitLog" in refused.text


@pytest.mark.parametrize("damaged", [4, 30, 60, 90])
def test_bytes_that_are_no_record_of_their_position_are_refused(damaged: int) -> None:
    master, slave = filled(3), Slave()
    data = bytearray(bytes_of_log(master, 0, None))
    data[SIZE + damaged] ^= 0x40
    refused = slave.store.append_copy(0, bytes(data), 0.0)
    assert (refused is None) == (damaged == 60)  # hosts have no checksum
    if refused is not None:
        assert refused.is_diverged
        assert slave.store.log.end == slave.store.begin_copy() == SIZE


def test_different_file_size_is_detected() -> None:
    settings = StoreSettings(mapped_file_size_commit_log=2048)
    master, slave = filled(settings=settings), Slave()
    refused = slave.store.append_copy(0, bytes_of_log(master, 0, None), 0.0)
    assert refused is not None
    assert refused.is_diverged
    assert "mappedFileSizeCommitLog" in refused.text


def test_slave_refuses_messages() -> None:
    slave = Slave()
    refused = slave.store.put(message(1))
    assert isinstance(refused, Refused)
    assert refused.status is PutStatus.SERVICE_NOT_AVAILABLE
    assert "slave" in refused.text


@pytest.mark.parametrize("operation", ["write", "allocate", "create"])
def test_a_full_disk_refuses_until_there_is_space(operation: str) -> None:
    disk = FaultyDisk()
    master, slave = filled(), Slave(disk)
    copy(master, slave, end=3000)
    disk.fail(operation, DiskFailure.NO_SPACE)
    position = slave.store.begin_copy()
    assert position is not None
    data = bytes_of_log(master, position, None)
    refused = slave.store.append_copy(position, data, slave.now)
    if refused is not None:
        assert not refused.is_diverged
    slave.turn(1.0)
    slave.background.complete_all()
    slave.turn(1.0)
    copy(master, slave)
    assert_equal(master, slave)


def test_a_failed_sync_ends_a_slave_too() -> None:
    disk = FaultyDisk()
    master, slave = filled(3), Slave(disk, SYNC)
    copy(master, slave)
    slave.turn(1.0)
    disk.fail("sync")
    slave.background.complete_all()
    with pytest.raises(SyncFailedError):
        slave.turn()
    with pytest.raises(SyncFailedError):
        slave.store.append_copy(slave.store.log.end, b"x", 0.0)


def recreated(master: Master) -> None:
    """A master whose topic was deleted and has messages again."""
    master.store.delete_topic("T")
    master.turn()
    for number in range(200, 204):
        master.put(number, topic="T")
        master.turn()


@pytest.mark.parametrize("sizes", [(), (500,) * 100])
def test_a_topic_that_the_master_deleted_begins_anew(sizes: Sequence[int]) -> None:
    disk = FaultyDisk()
    master, slave = filled(), Slave(disk)
    recreated(master)
    copy(master, slave, sizes)
    assert_equal(master, slave)
    assert [each.queue_offset for each in slave.records("T", 0)] == [0, 1, 2, 3]
    for again in (disk.crash, disk.kill):
        survivor = Slave(again())
        copy(master, survivor)
        assert_equal(master, survivor)
        disk = survivor.disk  # type: ignore[assignment]  # it is one


def test_a_stop_while_a_queue_begins_anew_changes_nothing() -> None:
    master = filled(20)
    before = master.store.log.end
    recreated(master)
    for at in range(1, 30):
        disk = FaultyDisk()
        slave = Slave(disk)
        copy(master, slave, end=before)
        disk.crash_at = disk.operations + at
        with suppress(PowerCut):
            copy(master, slave)
            slave.settle()
        survivor = Slave(disk.crash())
        copy(master, survivor)
        assert_equal(master, survivor)


@settings(max_examples=30)
@example(seed=102, is_sync=True)  # a blank that is half there
@given(seed=st.integers(0, 2**32), is_sync=st.booleans())
def test_synced_records_survive_and_the_rest_is_copied_again(seed: int, is_sync: bool) -> None:
    """Slave lives end by power cut, kill or clean stop, while the master continues."""
    random = Random(seed)
    chosen = SYNC if is_sync else SETTINGS
    master = filled(10)
    if random.random() < 0.5:  # the slave is a late one
        for number in range(40):
            master.put(number, topic=TOPICS[number % 2])
            master.turn()
    disk = FaultyDisk(lambda count: int(random.random() * count))
    slave = Slave(disk, chosen)
    start: int | None = None
    for _ in range(4):
        for number in range(random.randrange(20)):
            master.put(number, topic=TOPICS[number % 2])
            master.turn()
        if random.random() < 0.2:
            recreated(master)
        position = slave.store.begin_copy()
        if position is None:
            position = master.store.log.end - master.store.log.end % 4096
        start = position if start is None else start
        data = bytes_of_log(master, position, None)
        while data:
            size = random.randrange(1, 4000)
            refused = slave.store.append_copy(position, data[:size], slave.now)
            assert refused is None, refused.text
            position += len(data[:size])
            data = data[size:]
            slave.turn(random.choice([0.0, 0.3, 2.0]))
            slave.background.complete_some(disk.choose)
            if random.random() < 0.05:
                break
        flushes = slave.store._flushes
        assert flushes is not None
        flushed = flushes.flusher.flushed.position
        ending = random.randrange(4)
        if ending == 0:
            slave.close()
        if ending == 3:
            continue
        disk = disk.crash() if ending == 1 else disk.kill()
        slave = Slave(disk, chosen)
        end = slave.store.log.end
        assert flushed <= end <= master.store.log.end
        assert bytes_of_log(slave, slave.store.log.start, None) == bytes_of_log(
            master, slave.store.log.start, end
        )
    copy_rest(master, slave)
    assert_equal(master, slave)


def copy_rest(master: Master, slave: Slave) -> None:
    if slave.store.begin_copy() is None:
        start = master.store.log.end - master.store.log.end % 4096
        slave.store.append_copy(start, bytes_of_log(master, start, None), slave.now)
    else:
        copy(master, slave)
    slave.turn()


# ---------------------------------------------------------------------- what was not dispatched


def behind(disk: FaultyDisk) -> tuple[Master, Slave]:
    """A slave that cannot begin the queue anew that its master deleted, and a further file of the
    log."""
    master, slave = Master(), Slave(disk)
    master.put(1, 2)
    master.turn()
    copy(master, slave)
    for _ in range(3):
        slave.settle()
        slave.turn(61.0)  # its queue is on disk
    master.store.delete_topic("T")
    master.turn()
    while master.store.log.end < FILE_BYTES:
        master.put(3)
        master.turn()
    disk.fail("remove", DiskFailure.BROKEN, path=f"consumequeue/T/0/{0:020d}")
    return master, slave


def test_undispatched_records_are_not_searched_behind_the_end_of_the_log() -> None:
    disk = FaultyDisk()
    master, slave = behind(disk)
    begin = slave.store.begin_copy()
    assert begin is not None
    assert slave.store.append_copy(begin, bytes_of_log(master, begin, FILE_BYTES), 0.0) is None
    slave.background.complete_all()
    slave.store.log.prepare(slave.now)
    disk.fail("read", DiskFailure.BROKEN, path=f"commitlog/{FILE_BYTES:020d}")
    slave.turn(0.1)
    assert slave.store.trouble(slave.now) is None
    below = [each for each in master.records("T", 0) if each.physical_offset < FILE_BYTES]
    assert [each.body for each in slave.records("T", 0)] == [each.body for each in below]


def test_partly_written_record_is_not_dispatched() -> None:
    disk = FaultyDisk(lambda count: count - 1)
    master, slave = behind(disk)
    disk.fail("write", DiskFailure.BROKEN, path=f"commitlog/{FILE_BYTES:020d}")
    begin = slave.store.begin_copy()
    assert begin is not None
    assert slave.store.append_copy(begin, bytes_of_log(master, begin, None), 0.0) is not None
    slave.turn(0.1)
    assert slave.store.dispatch_behind == 0
    copy(master, slave)
    assert_equal(master, slave)


def test_record_that_cannot_be_read_again_is_not_skipped() -> None:
    disk = FaultyDisk()
    master, slave = behind(disk)
    begin, end = slave.store.begin_copy(), 10 * SIZE
    assert begin is not None
    assert slave.store.append_copy(begin, bytes_of_log(master, begin, end), 0.0) is None
    disk.flip_bit(f"commitlog/{0:020d}", end - SIZE + 3, 7)  # it is longer than the log now
    with pytest.raises(CorruptionError, match=f"at {end - SIZE} of the log"):
        slave.turn(0.1)


def test_topic_deletion_keeps_a_partly_received_blank() -> None:
    disk = FaultyDisk()
    master, slave = filled(40), Slave(disk)
    data = bytes_of_log(master, 0, None)
    half = FILE_BYTES - 8
    assert slave.store.append_copy(0, data[:half], 0.0) is None
    slave.store.delete_topic("V")
    slave.turn(0.1)
    assert slave.store.append_copy(half, data[half:], 0.0) is None
    assert_equal(master, slave)
    survivor = Slave(disk.kill())
    assert survivor.store.log.end == master.store.log.end
