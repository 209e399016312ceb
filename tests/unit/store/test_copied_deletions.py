"""Tests how a copy of the log finds out that a topic was deleted and used again.

It sees a message that does not continue its queue. Whatever the master's new queues have, its own
must have.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gantrymq.base.disk import DiskFailure
from gantrymq.fakes.brokers.replicated import Master, Slave
from gantrymq.fakes.stores.copied_store import (
    DELETED,
    FILE_BYTES,
    QUEUES,
    WALL_MS,
    assert_has_all,
    bodies,
    copied,
    copy,
    counts,
    sent,
)
from gantrymq.testing.faulty_disk import FaultyDisk


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
def test_deleted_messages_disappear_with_the_next_send_to_their_queue(
    steps: tuple[int, ...], left: list[int]
) -> None:
    assert counts(copied(*steps)) == left


@settings(max_examples=60)
@given(
    steps=st.lists(st.integers(DELETED, QUEUES[-1]), max_size=40),
    stops=st.lists(st.integers(0, 40), max_size=4),
    is_power=st.booleans(),
)
def test_slave_has_every_message_that_the_master_shows(
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
def test_kept_messages_survive_a_crash(is_settled: bool) -> None:
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


def test_messages_of_another_master_stay() -> None:
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
def test_records_behind_a_failed_dispatch_wait_for_it(times: int) -> None:
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
