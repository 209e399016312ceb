"""A topic that is deleted and sent to again, as who copies the log finds out: by a message that
does not continue its queue. Whatever the master's new queues have its own must have."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gantrymq.base.disk import DiskFailure
from gantrymq.fakes.replicated import Master, Slave, bytes_of_log
from gantrymq.fakes.store import SETTINGS, OpenedStore, message
from gantrymq.testing.faulty_disk import FaultyDisk

WALL_MS: Final = 1_700_000_000_000
FILE_BYTES: Final = SETTINGS.mapped_file_size_commit_log
QUEUES: Final = range(4)
DELETED: Final = -1


def sent(master: OpenedStore, *steps: int) -> None:
    """A message to each of these queues of the topic, or the topic is deleted."""
    for step in steps:
        if step == DELETED:
            master.store.delete_topic("T")
        else:
            master.store.put(message(master.store.log.end, "T", step))
        master.turn()


def copy(master: OpenedStore, slave: OpenedStore) -> None:
    begin = slave.store.begin_copy() or 0
    refused = slave.store.append_copy(begin, bytes_of_log(master, begin, None), slave.now)
    assert refused is None, refused.text
    slave.turn(0.1)


def copied(*steps: int) -> Slave:
    master, slave = Master(), Slave()
    sent(master, *steps)
    copy(master, slave)
    return slave


def bodies(store: OpenedStore, queue_id: int) -> list[bytes]:
    return [record.body for record in store.records("T", queue_id)]


def counts(store: OpenedStore) -> list[int]:
    return [len(bodies(store, queue_id)) for queue_id in QUEUES]


def assert_has_all(slave: OpenedStore, master: OpenedStore) -> None:
    for queue_id in QUEUES:
        theirs = {each.queue_offset: each.body for each in master.records("T", queue_id)}
        own = {each.queue_offset: each.body for each in slave.records("T", queue_id)}
        assert theirs.items() <= own.items()


@pytest.mark.parametrize(
    ("steps", "left"),
    [
        pytest.param((0, 0, DELETED, 0), [1, 0, 0, 0], id="it begins anew"),
        pytest.param((0, DELETED, 1, 1, 0), [1, 2, 0, 0], id="a new queue's turn came first"),
        pytest.param((0, 1, DELETED, 2, 0), [1, 1, 1, 0], id="another one waits for its own"),
        pytest.param((0, 1, 1, DELETED, 2, 0, 1), [1, 1, 1, 0], id="which then tells the same"),
        pytest.param((0, DELETED, 1, 0, DELETED, 2, 1, 0), [1, 1, 1, 0], id="twice"),
    ],
)
def test_what_was_deleted_goes_when_its_queue_is_sent_to(
    steps: tuple[int, ...], left: list[int]
) -> None:
    assert counts(copied(*steps)) == left


@settings(max_examples=60)
@given(
    steps=st.lists(st.integers(DELETED, QUEUES[-1]), max_size=40),
    stops=st.lists(st.integers(0, 40), max_size=4),
    is_power=st.booleans(),
)
def test_nothing_that_the_master_shows_is_missing(
    steps: list[int], stops: list[int], is_power: bool
) -> None:
    disk = FaultyDisk()
    master, slave = Master(), Slave(disk)
    for at, step in enumerate(steps):
        sent(master, step)
        if at % 3 == 0:
            copy(master, slave)
        if at in stops:
            disk = disk.crash() if is_power else disk.kill()
            slave = Slave(disk)
            copy(master, slave)
            assert_has_all(slave, master)
    copy(master, slave)
    assert_has_all(slave, master)
    if DELETED in steps:
        sent(master, *QUEUES)
        copy(master, slave)
        assert counts(slave) == [len(bodies(master, queue_id)) for queue_id in QUEUES]


@pytest.mark.parametrize("is_settled", [True, False])
def test_and_what_was_kept_is_there_after_a_crash(is_settled: bool) -> None:
    disk = FaultyDisk()
    master, slave = Master(), Slave(disk)
    sent(master, 0, 0, DELETED, 1, 1, 0)
    copy(master, slave)
    if is_settled:
        for _ in range(3):
            slave.settle()
            slave.turn(1.0)
    again = Slave(disk.crash())
    copy(master, again)
    assert counts(again) == [1, 2, 0, 0]
    assert_has_all(again, master)


def test_what_was_sent_by_another_master_meanwhile_stays() -> None:
    one, other = Master(), Slave()
    sent(one, 0, 1, 0)
    copy(one, other)
    sent(one, DELETED)
    one.store.follow(WALL_MS)
    other.store.lead(other.now)
    sent(other, 0, 0)  # it was not told, and goes on with the numbers
    copy(other, one)
    other.store.follow(WALL_MS)
    one.store.lead(one.now)
    sent(one, 1)
    copy(one, other)
    assert [each.queue_offset for each in one.records("T", 0)] == [2, 3]
    assert_has_all(other, one)


@pytest.mark.parametrize("times", [2, 3, 4])
def test_what_comes_behind_a_failure_is_not_dispatched_before_it(times: int) -> None:
    disk = FaultyDisk()
    master, slave = Master(), Slave(disk)
    sent(master, 0, 0)
    copy(master, slave)
    sent(master, DELETED, 1, 0, 0)
    while master.store.log.end < FILE_BYTES:
        sent(master, 3)
    sent(master, 3, 3, 0)  # in the next file
    disk.fail("remove", DiskFailure.BROKEN, path="consumequeue/T/0", times=times)
    copy(master, slave)
    assert counts(slave)[3] == 0
    assert slave.store.trouble(slave.now) is not None
    for _ in range(times):
        slave.turn(1.0)
    assert slave.store.trouble(slave.now) is None
    assert counts(slave) == [len(bodies(master, queue_id)) for queue_id in QUEUES]
    assert_has_all(slave, master)
