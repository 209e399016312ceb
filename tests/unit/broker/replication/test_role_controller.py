"""Tests a member that becomes master or slave while clients use it."""

from __future__ import annotations

import pytest

from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import FakeChannel, OpenedBroker
from gantrymq.fakes.brokers.pops import PoppedBroker
from gantrymq.fakes.brokers.pulls import bodies, pull
from gantrymq.fakes.brokers.sends import add_topic, message
from gantrymq.fakes.brokers.transactions import COMMIT, Transactions, asked
from gantrymq.fakes.groups.led_members import SEND, SUCCESS, WAITS, fed, grouped, led
from gantrymq.fakes.groups.members import Member, change_places, pair
from gantrymq.wire.codes import RequestCode, ResponseCode

# ---------------------------------------------------------------------- identity


def test_new_master_accepts_messages_and_registers() -> None:
    member = Member(3)
    assert not member.state.identity.is_master
    member.lead(epoch=7)
    add_topic(member)
    assert member.ask(SEND, message(), b"a").code == SUCCESS
    assert member.state.identity.broker_id == 0
    assert member.registered
    assert member.said("became master member=3 group=broker-a epoch=7")


def test_follower_has_its_member_number_as_broker_id() -> None:
    member = Member(3)
    member.lead()
    member.registered.clear()
    member.follow()
    assert member.state.identity.broker_id == 3
    assert member.registered
    assert member.said("became slave member=3")


def test_changes_of_the_role_are_counted() -> None:
    member = Member(3)
    member.lead(epoch=7)
    member.follow()
    member.lead(epoch=9)
    assert member.services.role_controller.changes == {"master": 2, "slave": 1}


def test_roles_that_are_fixed_do_not_change() -> None:
    with pytest.raises(AssertionError, match="fixed"):
        OpenedBroker().broker.lead(1, 0.0, 0)


def test_sends_are_taken_from_buffers_while_it_leads_and_not_longer() -> None:
    member = led()
    channel, data = FakeChannel(), fed()
    assert member.broker.feed(channel, data, 0, member.now, member.wall_ms) == (len(data), 1)
    member.settle()
    member.follow()
    assert member.broker.feed(channel, data, 0, member.now, member.wall_ms) == (0, 0)
    member.lead(2)
    assert member.broker.feed(channel, data, 0, member.now, member.wall_ms) == (len(data), 1)
    member.settle()
    assert member.bodies("T") == [b"first", b"fed", b"fed"]


# ---------------------------------------------------------------------- consumers


def test_held_pull_outlives_a_change_of_master() -> None:
    master, follower = grouped()
    waits = follower.send(RequestCode.PULL_MESSAGE, pull(1, sys_flag=WAITS))
    assert follower.is_held(waits)
    change_places(master, follower)
    assert follower.is_held(waits)
    follower.ask(SEND, message(), b"second")
    answer = follower.answer(waits)
    assert answer is not None
    assert answer.code == SUCCESS


def test_pull_held_at_the_old_master_gets_messages_that_it_copies() -> None:
    master, follower = grouped()
    waits = master.send(RequestCode.PULL_MESSAGE, pull(1, sys_flag=WAITS))
    change_places(master, follower)
    follower.ask(SEND, message(), b"second")
    assert master.is_held(waits)
    master.copy_log(follower)
    assert not master.is_held(waits)


def test_a_pull_waits_for_the_safe_mark() -> None:
    member = led()
    member.state.store.safe = member.state.store.log.end
    waits = member.send(RequestCode.PULL_MESSAGE, pull(1, sys_flag=WAITS))
    member.send(SEND, message(), b"second")
    assert member.is_held(waits)
    member.state.store.safe = member.state.store.log.end
    member.settle()
    answer = member.answer(waits)
    assert answer is not None
    assert bodies(answer) == ["second"]


def test_a_consumer_that_has_read_further_is_not_sent_back() -> None:
    master, follower = grouped()
    follower.state.store.safe = 0
    change_places(master, follower)
    waits = follower.send(RequestCode.PULL_MESSAGE, pull(1, sys_flag=WAITS))
    assert follower.is_held(waits)
    assert follower.ask(RequestCode.PULL_MESSAGE, pull(1)).code != ResponseCode.PULL_OFFSET_MOVED
    follower.state.store.safe = None
    follower.ask(SEND, message(), b"second")
    answer = follower.answer(waits)
    assert answer is not None
    assert bodies(answer) == ["second"]


def test_new_master_moves_offsets_back_to_the_ends_of_queues() -> None:
    master, follower = grouped()
    for group, offset in (("ahead", 5), ("behind", 0)):
        follower.state.offsets.commit(group, "T", 0, offset)
    change_places(master, follower)
    assert follower.state.offsets.find("ahead", "T", 0) == 1
    assert follower.state.offsets.find("behind", "T", 0) == 0
    assert follower.said("moved group offsets back to the ends of queues group=ahead")
    assert follower.said("checked=2 moved=1 groups=1")
    assert not follower.said("group=behind")


# ---------------------------------------------------------------------- transactions


def test_open_transactions_are_known_from_the_log() -> None:
    master, follower = pair()
    theirs = Transactions(master)
    decided, opened = theirs.prepare(b"decided"), theirs.prepare(b"open")
    assert theirs.code(decided, COMMIT) == SUCCESS
    follower.copy(master)
    change_places(master, follower)
    ours = Transactions(follower)
    producer = ours.connect()
    follower.pass_time(300.0)
    assert {half.number for half in asked(producer)} >= {2}
    assert not [half for half in asked(producer) if half.number == decided.number]
    assert ours.delivered() == [b"decided"]
    assert ours.code(decided, COMMIT) != SUCCESS
    assert opened.number == 1


def test_a_transaction_is_decided_at_the_new_master() -> None:
    master, follower = pair()
    half = Transactions(master).prepare(b"pay")
    follower.copy(master)
    change_places(master, follower)
    ours = Transactions(follower)
    assert ours.code(half, COMMIT) == SUCCESS
    assert ours.delivered() == [b"pay"]


def test_former_master_checks_no_transaction() -> None:
    master, follower = pair()
    theirs = Transactions(master)
    producer = theirs.connect()
    theirs.prepare(b"pay")
    follower.copy(master)
    change_places(master, follower)
    master.pass_time(300.0)
    assert not asked(producer)
    assert not master.state.open_halves.is_ready


# ---------------------------------------------------------------------- pops


def test_unacknowledged_message_becomes_visible_at_the_new_master() -> None:
    master, follower = pair()
    theirs, ours = PoppedBroker(broker=master), PoppedBroker(broker=follower)
    theirs.store("a", "b")
    acknowledged, lost = theirs.popped(invisible_time=10_000)
    theirs.ack(acknowledged)
    follower.copy(master)
    change_places(master, follower)
    assert not ours.popped()
    follower.pass_time(15.0)
    assert [each.body for each in ours.popped()] == [lost.body]


def test_message_popped_at_the_old_master_is_acknowledged_at_the_new_one() -> None:
    master, follower = pair()
    theirs, ours = PoppedBroker(broker=master), PoppedBroker(broker=follower)
    theirs.store("a")
    (popped,) = theirs.popped(invisible_time=10_000)
    follower.copy(master)
    change_places(master, follower)
    assert ours.ack(popped).code == SUCCESS
    follower.pass_time(30.0)
    assert not ours.popped()


def test_a_pop_that_waits_is_answered_when_the_reign_ends() -> None:
    member = led()
    pops = PoppedBroker(broker=member)
    waits = pops.pop(queue_id=1)
    assert member.is_held(waits)
    member.follow()
    answer = member.answer(waits)
    assert answer is not None
    assert answer.code == ResponseCode.POLLING_TIMEOUT


def test_old_master_does_not_redeliver_its_in_flight_messages() -> None:
    master, follower = pair()
    theirs = PoppedBroker(broker=master)
    theirs.store("a")
    assert theirs.popped(invisible_time=1_000)
    follower.copy(master)
    change_places(master, follower)
    end = master.state.store.log.end
    master.pass_time(30.0)
    assert master.state.store.log.end == end
    assert len(master.state.task_runner) == 0, "nor does it try to"


# ---------------------------------------------------------------------- tables that requests change


def test_a_new_master_has_its_own_topics_and_the_last_ones() -> None:
    master, follower = grouped()
    change_places(master, follower)
    assert follower.ask(SEND, message(), b"second").code == SUCCESS
    assert follower.bodies("T") == [b"first", b"second"]


def test_a_message_follows_its_predecessor_of_the_last_reign() -> None:
    master, follower = grouped()
    change_places(master, follower)
    answer = follower.ask(SEND, message(), b"second")
    assert (answer.ext or {})["queueOffset"] == "1"
    master.copy_log(follower)
    assert master.bodies("T") == [b"first", b"second"]


def test_ten_reigns_lose_nothing() -> None:
    master, follower = pair(BrokerSettings(auto_create_topic_enable=True))
    for number in range(10):
        answer = master.ask(SEND, message(), b"%d" % number)
        assert answer.code == SUCCESS, answer.remark
        follower.copy(master)
        change_places(master, follower, epoch=number + 2)
        master, follower = follower, master
    assert master.bodies("T") == [b"%d" % number for number in range(10)]
