"""Tests that a new master gives a locked queue to the owner that the former master knew."""

from __future__ import annotations

from gantrymq.fakes.brokers.sends import add_topic
from gantrymq.fakes.groups.led_members import send_keyed
from gantrymq.fakes.groups.members import Member, change_places, pair
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode

QUEUE = MessageQueue("T", "broker-a", 0)


def locked(member: Member, client: str) -> bool:
    return bool(member.state.locks.lock("G", [QUEUE], client, member.now))


def heir_of_a_lock() -> Member:
    """A master that was a follower when "owner" locked the queue."""
    master, follower = pair()
    add_topic(master)
    send_keyed(master)
    assert locked(master, "owner")
    follower.copy_log(master)
    follower.copy_tables(master)
    change_places(master, follower)
    return follower


def test_for_a_while_a_queue_goes_to_its_owner_alone() -> None:
    follower = heir_of_a_lock()
    assert not locked(follower, "other")
    assert locked(follower, "owner")
    follower.pass_time(30.0)
    assert not locked(follower, "other")  # the owner asked again
    follower.pass_time(61.0)
    assert locked(follower, "other")


def test_an_owner_that_does_not_ask_loses_the_queue_after_that() -> None:
    follower = heir_of_a_lock()
    follower.pass_time(29.9)
    assert not locked(follower, "other")
    follower.pass_time(0.2)
    assert locked(follower, "other")


def test_queue_without_a_known_owner_is_locked_after_the_lock_time() -> None:
    master, follower = pair()
    add_topic(master)
    send_keyed(master)
    follower.copy(master)
    change_places(master, follower)
    assert not locked(follower, "other")
    follower.pass_time(30.0)
    assert locked(follower, "other")


def test_an_owner_may_give_its_queue_to_another_one() -> None:
    follower = heir_of_a_lock()
    follower.state.locks.unlock("G", [QUEUE], "owner")
    assert locked(follower, "other")


def test_locks_of_the_last_master_but_one_do_not_count() -> None:
    master, follower = pair()
    add_topic(master)
    send_keyed(master)
    assert locked(master, "owner")
    follower.copy_log(master)
    follower.copy_tables(master)
    master.state.locks.unlock("G", [QUEUE], "owner")
    follower.copy_tables(master)
    change_places(master, follower)
    follower.pass_time(30.0)
    assert locked(follower, "other")


def test_locks_of_an_earlier_reign_do_not_count() -> None:
    master, follower = pair()
    add_topic(master)
    send_keyed(master)
    assert locked(master, "owner")
    follower.copy(master)
    change_places(master, follower)
    follower.state.locks.unlock("G", [QUEUE], "owner")
    master.copy(follower)
    change_places(follower, master, epoch=3)
    master.pass_time(30.0)
    assert locked(master, "other")


def test_locks_are_the_masters_to_give() -> None:
    body = (
        b'{"consumerGroup":"G","clientId":"c","mqSet":[{"topic":"T","brokerName":"broker-a",'
        b'"queueId":0}]}'
    )
    master, follower = pair()
    add_topic(follower)
    for code in (RequestCode.LOCK_BATCH_MQ, RequestCode.UNLOCK_BATCH_MQ):
        remark = follower.ask(code, body=body).remark or ""
        assert "Only the master decides" in remark
        assert master.address in remark
