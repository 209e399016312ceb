"""Tests all slaves of a master: which of them sends wait for, and what their reports answer."""

from __future__ import annotations

from dataclasses import replace

from gantrymq.fakes.brokers.replicated import SYNC_MASTER, Master, Slave, cold
from gantrymq.fakes.stores.store import SETTINGS, SYNC
from gantrymq.ha.classic.log_senders import FOLLOWERS_MAX
from gantrymq.ha.protocol.events import Ending
from gantrymq.store.record.put_status import PutStatus
from gantrymq.testing.faulty_disk import FaultyDisk


def test_an_acknowledgement_answers_in_the_next_turn() -> None:
    master, slave = Master(ha=SYNC_MASTER), Slave()
    follower = master.connect(slave.report())
    (number,) = master.put(1)
    assert not master.turn().answers
    slave.receive(master.send(follower))
    assert not master.hear(follower, slave.report())
    (answer,) = master.turn().answers
    assert (answer.number, answer.status) == (number, PutStatus.PUT_OK)


def test_any_one_slave_is_enough() -> None:
    master = Master(ha=SYNC_MASTER)
    first, second = master.connect(0), master.connect(0)
    master.put(1)
    master.turn()
    master.send(first)
    master.send(second)
    master.hear(second, master.store.log.end)
    assert [answer.status for answer in master.turn().answers] == [PutStatus.PUT_OK]
    assert first.acknowledged == 0


def test_without_a_slave_sends_are_answered_at_once() -> None:
    master = Master(ha=SYNC_MASTER)
    follower = master.connect()
    master.put(1)
    (answer,) = master.turn().answers
    assert answer.status is PutStatus.SLAVE_NOT_AVAILABLE
    assert "none is connected" in answer.remark
    assert answer.positions == [0]
    master.hear(follower, 0)
    master.put(2)
    assert not master.turn().answers
    master.followers.closed(follower, Ending.CLOSED, master.now)
    master.put(3)
    (answer,) = master.turn().answers
    assert answer.status is PutStatus.SLAVE_NOT_AVAILABLE


def test_a_slave_that_is_far_behind_is_not_waited_for() -> None:
    master = Master(ha=replace(SYNC_MASTER, fall_behind_bytes=1000))
    follower = master.connect(0)
    for number in range(12):
        master.put(number)
        master.turn()
        master.followers.turn(master.now)
    (number,) = master.put(13)
    (answer,) = (each for each in master.turn().answers if each.number == number)
    assert answer.status is PutStatus.SLAVE_NOT_AVAILABLE
    assert "haSlaveFallbehindMax is 1000" in answer.remark
    master.hear(follower, follower.stream.sent)
    (number,) = master.put(14)
    assert not [each for each in master.turn().answers if each.number == number]


def test_a_slave_that_does_not_answer_is_waited_for_so_long() -> None:
    master = Master(ha=SYNC_MASTER)
    master.connect(0)
    master.put(1)
    master.turn()
    assert not master.turn(2.9).answers
    (answer,) = master.turn(0.1).answers
    assert answer.status is PutStatus.FLUSH_SLAVE_TIMEOUT
    assert "slaveTimeout=3000" in answer.remark
    assert answer.positions == [0]


def test_a_master_that_does_not_wait_answers_at_once() -> None:
    master = Master()
    master.connect(0)
    master.put(1)
    assert [answer.status for answer in master.turn().answers] == [PutStatus.PUT_OK]


def test_disk_and_slave_are_waited_for_side_by_side() -> None:
    for first in ("disk", "slave"):
        master = Master(settings=SYNC, ha=SYNC_MASTER)
        follower = master.connect(0)
        master.put(1)
        master.turn()
        master.followers.turn(master.now)
        if first == "disk":
            master.background.complete_all()
        else:
            master.hear(follower, follower.stream.sent)
        assert not master.turn().answers
        if first == "slave":
            master.background.complete_all()
        else:
            master.hear(follower, follower.stream.sent)
        assert [answer.status for answer in master.turn().answers] == [PutStatus.PUT_OK]


def test_of_two_failures_the_one_of_slaves_is_answered() -> None:
    master = Master(settings=SYNC, ha=SYNC_MASTER)
    master.connect(0)
    master.put(1)
    master.turn()
    assert not master.turn(3.0).answers
    (answer,) = master.turn(3.0).answers
    assert answer.status is PutStatus.FLUSH_SLAVE_TIMEOUT


def test_a_stop_does_not_claim_what_no_slave_has() -> None:
    master = Master(settings=SYNC, ha=SYNC_MASTER)
    master.connect(0)
    master.put(1)
    master.turn()
    (answer,) = master.close().answers
    assert answer.status is PutStatus.FLUSH_SLAVE_TIMEOUT


def test_there_are_only_so_many_followers() -> None:
    master = Master()
    followers = [master.connect() for _ in range(FOLLOWERS_MAX)]
    assert master.followers.opened("10.0.0.9:1", 0.0) is None
    master.followers.closed(followers[0], Ending.SILENT, 0.0)
    assert master.followers.opened("10.0.0.9:1", 0.0) is not None


def test_disk_read_of_a_disconnected_follower_is_cancelled() -> None:
    disk = FaultyDisk()
    again = cold(disk)
    follower = again.connect(0)
    again.followers.turn(again.now)
    again.followers.closed(follower, Ending.CLOSED, again.now)
    again.background.complete_all()
    again.turn()
    assert not again.followers.turn(again.now)
    assert not again.followers.is_due


def test_status_shows_the_progress_of_each_slave() -> None:
    master = Master(settings=SETTINGS)
    master.connect()
    follower = master.connect(0)
    master.put(1, 2)
    master.turn()
    master.send(follower)
    master.hear(follower, 119)
    (status,) = master.followers.statuses(master.now)
    assert status.acknowledged == 119
    assert status.behind_bytes == master.store.log.end - 119
    assert status.is_in_sync
