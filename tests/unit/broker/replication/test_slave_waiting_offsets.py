"""Tests that a slave applies its master's consumer offsets once its own log is as long."""

from __future__ import annotations

from gantrymq.broker.core.messages import File
from gantrymq.broker.core.replication.slave_synchronizer import LOOK_SECONDS, ROUND_SECONDS
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.pops import RETRY, PoppedBroker
from gantrymq.fakes.brokers.pulls import PulledBroker
from gantrymq.fakes.brokers.replicas import (
    MASTER,
    copy_log,
    opened_slave,
    registered,
    warnings,
)


def behind() -> tuple[PulledBroker, OpenedBroker]:
    """A master whose group G has come to 2 of T, and a slave with none of the messages, where it
    has come to 1."""
    master, slave = PulledBroker(), opened_slave()
    master.store("a", "b")
    master.state.offsets.commit("G", "T", 0, 2)
    slave.state.offsets.commit("G", "T", 0, 1)
    slave.reachable[MASTER] = master.broker
    slave.pass_time(1.0)  # its store has had a turn, and knows what is on its disk
    registered(slave)
    return master, slave


def test_how_far_groups_came_counts_when_the_log_is_here() -> None:
    """Else a message would count as consumed whose copy for another try was lost with the
    master."""
    master, slave = behind()
    slave.pass_time(2 * ROUND_SECONDS)
    assert slave.state.offsets.find("G", "T", 0) == 1
    copy_log(slave, master.broker)
    slave.pass_time(LOOK_SECONDS)
    assert slave.state.offsets.find("G", "T", 0) == 2
    slave.pass_time(6.0)
    assert b'"T@G":{0:2' in slave.saved[File.OFFSETS]


def test_where_a_group_has_no_offset_it_is_the_masters_at_once() -> None:
    """A group without one begins at the end, and misses what it had not consumed."""
    master, slave = behind()
    master.state.offsets.commit("G", "T", 1, 8)
    master.state.offsets.commit("New", "T", 0, 7)
    slave.pass_time(ROUND_SECONDS)
    assert dict(slave.state.offsets.queues("G", "T")) == {0: 1, 1: 8}
    assert dict(slave.state.offsets.queues("New", "T")) == {0: 7}


def test_a_slave_that_stays_behind_takes_offsets_as_old_as_its_log() -> None:
    """If newer ones took their place it would never have any."""
    master, slave = behind()
    end = master.state.store.log.end
    master.store("c")
    master.state.offsets.commit("G", "T", 0, 3)
    slave.pass_time(2 * ROUND_SECONDS)
    copy_log(slave, master.broker, end)
    slave.pass_time(LOOK_SECONDS)
    assert slave.state.offsets.find("G", "T", 0) == 2
    slave.pass_time(ROUND_SECONDS)
    copy_log(slave, master.broker)
    slave.pass_time(LOOK_SECONDS)
    assert slave.state.offsets.find("G", "T", 0) == 3


def test_waiting_offsets_keep_those_of_a_later_round() -> None:
    master, slave = behind()
    master.state.offsets.commit("G", "T", 1, 8)
    slave.pass_time(ROUND_SECONDS)
    copy_log(slave, master.broker)
    slave.pass_time(LOOK_SECONDS)
    assert dict(slave.state.offsets.queues("G", "T")) == {0: 2, 1: 8}


def test_offsets_that_wait_are_taken_where_the_master_does_not_answer_any_more() -> None:
    """That is when they are needed."""
    master, slave = behind()
    del slave.reachable[MASTER]
    slave.pass_time(3 * ROUND_SECONDS)
    copy_log(slave, master.broker)
    slave.pass_time(LOOK_SECONDS)
    assert slave.state.offsets.find("G", "T", 0) == 2


def test_the_disk_is_asked_for_the_few_bytes_that_offsets_wait_for() -> None:
    master, slave = behind()
    copy_log(slave, master.broker, is_flushed=False)
    slave.pass_time(2 * LOOK_SECONDS)
    assert slave.state.offsets.find("G", "T", 0) == 2


def test_a_master_that_lost_the_end_of_its_log_tells_anew() -> None:
    master, slave = behind()
    slave.reachable[MASTER] = shorter = PulledBroker().broker
    shorter.state.offsets.commit("G", "T", 0, 3)
    slave.pass_time(2 * ROUND_SECONDS)
    assert master.state.store.log.end > shorter.state.store.log.end == 0
    assert slave.state.offsets.find("G", "T", 0) == 3


def test_slave_that_lacks_the_retry_copies_serves_the_first_ones() -> None:
    """The master has done with them once its own disk has the second ones."""
    popped, slave = PoppedBroker(), opened_slave()
    popped.store("a", "b")
    copy_log(slave, popped.broker)
    slave.reachable[MASTER] = popped.broker
    popped.popped(invisible_time=1_000)
    registered(slave)
    assert slave.state.offsets.find("G", "T", 0) == 0
    popped.broker.pass_time(2 * ROUND_SECONDS)
    assert popped.broker.bodies(RETRY) == [b"a", b"b"]
    slave.pass_time(3 * ROUND_SECONDS)
    assert slave.state.offsets.find("G", "T", 0) == 0
    copy_log(slave, popped.broker)
    slave.pass_time(LOOK_SECONDS)
    assert slave.state.offsets.find("G", "T", 0) == 2


def test_offsets_beyond_the_limit_are_logged_and_dropped() -> None:
    master, slave = behind()
    slave.state.offsets.remove("G")
    slave.state.offsets.limit = 0
    copy_log(slave, master.broker)
    slave.pass_time(LOOK_SECONDS)
    assert len(slave.state.offsets) == 0
    assert warnings(slave)[-1].startswith("SyncConsumerOffset Exception")


def test_how_far_groups_came_at_another_master_is_forgotten() -> None:
    """What waits for this broker's log to be as long is of another log."""
    master, slave = behind()
    del slave.reachable[MASTER]
    slave.reachable["10.0.0.9:10911"] = OpenedBroker()
    registered(slave, "10.0.0.9:10911")
    copy_log(slave, master.broker)
    slave.pass_time(2 * ROUND_SECONDS)
    assert slave.state.offsets.find("G", "T", 0) == 1
