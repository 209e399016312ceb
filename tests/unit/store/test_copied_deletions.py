"""A topic that is deleted and sent to again, as who copies the log finds out: by a message that
does not continue its queue. Whatever the master's new queues have its own must have."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gantrymq.base.disk import DiskFailure
from gantrymq.fakes.replicated import Master, Slave, bytes_of_log
from gantrymq.fakes.store import message
from gantrymq.testing.faulty_disk import FaultyDisk

QUEUES: Final = range(4)
DELETED: Final = -1


def sent(master: Master, *steps: int) -> None:
    """A message to each of these queues of the topic, or the topic is deleted."""
    for step in steps:
        if step == DELETED:
            master.store.delete_topic("T")
        else:
            master.store.put(message(master.store.log.end, "T", step))
        master.turn()


def copy(master: Master, slave: Slave) -> None:
    begin = slave.store.begin_copy() or 0
    refused = slave.store.append_copy(begin, bytes_of_log(master, begin, None), slave.now)
    assert refused is None, refused.text
    slave.turn(0.1)


def copied(*steps: int) -> Slave:
    master, slave = Master(), Slave()
    sent(master, *steps)
    copy(master, slave)
    return slave


def bodies(store: Master | Slave, queue_id: int) -> list[bytes]:
    return [record.body for record in store.records("T", queue_id)]


def counts(store: Slave) -> list[int]:
    return [len(bodies(store, queue_id)) for queue_id in QUEUES]


def assert_has_all(slave: Slave, master: Master) -> None:
    for queue_id in QUEUES:
        theirs = {each.queue_offset: each.body for each in master.records("T", queue_id)}
        own = {each.queue_offset: each.body for each in slave.records("T", queue_id)}
        assert theirs.items() <= own.items()


@pytest.mark.parametrize(
    ("steps", "left"),
    [
        pytest.param((0, DELETED, 1, 1, 0), [1, 2, 0, 0], id="a new queue's turn came first"),
        pytest.param((0, 1, DELETED, 2, 1), [0, 1, 1, 0], id="one that was there goes too"),
        pytest.param((1, 0, 1, DELETED, 2, 0), [1, 0, 1, 0], id="be it newer, too"),
        pytest.param((0, 1, 0, 2, 1, DELETED, 3, 0), [1, 0, 0, 1], id="or one of a row"),
        pytest.param((0, 1, DELETED, 2, 0), [1, 1, 1, 0], id="what may be new is kept"),
        pytest.param((0, 1, DELETED, 2, 0, 1), [1, 1, 1, 0], id="until it tells by itself"),
        pytest.param((0, DELETED, 1, 0, DELETED, 2, 1, 0), [1, 1, 1, 0], id="twice"),
    ],
)
def test_what_was_deleted_goes_and_what_was_sent_since_stays(
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


def test_a_disk_that_refuses_the_note_loses_nothing() -> None:
    disk = FaultyDisk()
    master, slave = Master(), Slave(disk)
    sent(master, 0, 0)
    copy(master, slave)
    sent(master, DELETED, 1, 1, 0)
    disk.fail("create", DiskFailure.NO_SPACE, path="gantry/deleted.new", times=2)
    copy(master, slave)
    assert counts(slave) == [2, 2, 0, 0]
    assert slave.store.trouble(slave.now) is not None
    slave.turn(1.0)
    assert counts(slave) == [1, 2, 0, 0]
    assert_has_all(slave, master)


def test_messages_that_are_too_old_to_be_shown_are_as_new_as_they_were() -> None:
    master, slave = Master(), Slave()
    sent(master, 0, DELETED, 1, 2)
    copy(master, slave)
    hidden = slave.store.queues.find("T", 2)
    assert hidden is not None
    hidden.floor = hidden.end
    sent(master, 0)
    copy(master, slave)
    assert counts(slave)[:2] == [1, 1]
    assert slave.store.queues.find("T", 2) is hidden
