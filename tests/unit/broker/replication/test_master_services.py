"""Tests a master's delivery services when its role changes, and while it is paused."""

from __future__ import annotations

from dataclasses import replace

from gantrymq.fakes.brokers.broker import STORE_SETTINGS, FakeChannel, OpenedBroker
from gantrymq.fakes.brokers.sends import add_topic, message
from gantrymq.fakes.brokers.transactions import COMMIT, Transactions
from gantrymq.fakes.groups.led_members import SEND, SUCCESS, fed, grouped, led, pause
from gantrymq.fakes.groups.members import Member, change_places, pair

# ---------------------------------------------------------------------- changes of the role


def delayed(member: OpenedBroker, body: bytes, level: int = 1) -> None:
    named = {"UNIQ_KEY": body.decode(), "DELAY": str(level)}
    assert member.ask(SEND, message(properties=named), body).code == SUCCESS


def test_delayed_messages_are_delivered_once_over_a_change_of_master() -> None:
    master, follower = grouped()
    delayed(master, b"early")
    master.pass_time(2.0)
    delayed(master, b"late")
    follower.copy(master)
    follower.pass_time(5.0)
    assert follower.bodies("T") == [b"first", b"early"]
    change_places(master, follower)
    follower.pass_time(5.0)
    assert follower.bodies("T") == [b"first", b"early", b"late"]
    master.pass_time(5.0)
    assert master.bodies("T") == [b"first", b"early"]


def test_a_delivery_that_the_log_lacks_is_made_again() -> None:
    master, follower = grouped()
    delayed(master, b"delayed")
    follower.copy_log(master)
    master.pass_time(2.0)
    assert master.bodies("T") == [b"first", b"delayed"]
    follower.copy_tables(master)
    change_places(master, follower)
    follower.pass_time(2.0)
    assert follower.bodies("T") == [b"first", b"delayed"]


def timed(member: OpenedBroker, body: bytes, seconds: int = 2) -> None:
    named = {"UNIQ_KEY": body.decode(), "TIMER_DELIVER_MS": str(member.wall_ms + seconds * 1000)}
    assert member.ask(SEND, message(properties=named), body).code == SUCCESS


def test_timers_are_delivered_once_over_a_change_of_master() -> None:
    master, follower = grouped()
    timed(master, b"early")
    timed(master, b"late", 20)
    master.pass_time(5.0)
    follower.copy(master)
    follower.pass_time(1.0)
    change_places(master, follower)
    follower.pass_time(30.0)
    assert follower.bodies("T") == [b"first", b"early", b"late"]


def test_rolled_timers_are_delivered_once_over_changes_of_master() -> None:
    master, follower = pair(store_settings=replace(STORE_SETTINGS, file_reserved_time=1))
    add_topic(master, "T")
    timed(master, b"soon", 2760)
    for number in range(20):
        timed(master, b"%d" % number, 7200)
    master.pass_time(2710.0)
    assert master.services.timer_service.counters["rolled"] == 20
    follower.copy(master)
    change_places(master, follower)
    follower.pass_time(100.0)
    master.copy(follower)
    change_places(follower, master, 3)
    master.pass_time(5000.0)
    assert sorted(master.bodies("T")) == sorted([b"soon", *(b"%d" % n for n in range(20))])


def test_a_timer_whose_delivery_the_log_lacks_is_delivered_again() -> None:
    master, follower = grouped()
    timed(master, b"timed")
    follower.copy_log(master)
    master.pass_time(5.0)
    follower.copy_tables(master)
    change_places(master, follower)
    follower.pass_time(5.0)
    assert follower.bodies("T") == [b"first", b"timed"]


def test_services_end_with_the_reign_and_begin_anew_with_the_next() -> None:
    member = led()
    delayed(member, b"delayed")
    timed(member, b"timed")
    member.pass_time(0.5)
    member.follow()
    end = member.state.store.log.end
    member.pass_time(10.0)
    assert member.state.store.log.end == end
    assert len(member.state.task_runner) == 0
    member.lead(2)
    member.pass_time(10.0)
    assert sorted(member.bodies("T")) == [b"delayed", b"first", b"timed"]


def test_only_a_master_knows_waiting_timers_and_half_messages() -> None:
    member = led()
    timed(member, b"timed", 100)
    Transactions(member).prepare(b"pay")
    member.pass_time(2.0)
    assert waiting(member) == (1, True)
    member.follow()
    assert waiting(member) == (0, False)
    member.lead(2)
    member.pass_time(1.0)
    assert waiting(member) == (1, True)


def waiting(member: Member) -> tuple[int, bool]:
    """How many timed messages are known, and whether all halves are."""
    return member.services.timer_service.count, member.state.open_halves.is_ready


def test_a_delivery_that_is_refused_by_the_end_of_a_reign_is_not_tried_again() -> None:
    member = led()
    delayed(member, b"delayed")
    member.now += 1.5
    member.broker.turn(member.now, member.wall_ms)  # it is read, or put
    for _ in range(3):
        member.opened.background.complete_all()
        if member.state.store.waiting_bytes:
            break
        member.broker.turn(member.now, member.wall_ms)
    assert member.state.store.waiting_bytes
    member.follow()
    assert len(member.state.task_runner) == 0
    member.pass_time(5.0)
    assert member.bodies("T") == [b"first"]
    member.lead(2)
    member.pass_time(5.0)
    assert member.bodies("T") == [b"first", b"delayed"]


def test_services_wait_until_all_that_was_there_can_be_seen() -> None:
    master, follower = grouped()
    delayed(master, b"delayed")
    follower.copy(master)
    follower.state.store.safe = 0
    change_places(master, follower)
    follower.pass_time(5.0)
    assert not follower.state.serves
    assert follower.bodies("T") == [b"first"]
    follower.state.store.safe = follower.state.store.log.end
    follower.pass_time(1.0)
    follower.state.store.safe = None
    follower.pass_time(1.0)
    assert follower.bodies("T") == [b"first", b"delayed"]


# ---------------------------------------------------------------------- a pause


def test_while_it_is_paused_nothing_new_is_put() -> None:
    member = led()
    delayed(member, b"delayed")
    timed(member, b"timed")
    pause(member, is_paused=True)
    end = member.state.store.log.end
    request = member.send(SEND, message(), b"parked")
    channel, data = FakeChannel(), fed()
    assert member.broker.feed(channel, data, 0, member.now, member.wall_ms) == (0, 0)
    member.pass_time(1.9)
    assert member.state.store.log.end == end
    assert member.is_held(request)


def test_a_pause_that_comes_to_nothing_loses_nothing() -> None:
    member = led()
    delayed(member, b"delayed")
    timed(member, b"timed")
    pause(member, is_paused=True)
    request = member.send(SEND, message(), b"parked")
    member.pass_time(1.5)
    pause(member, is_paused=False)
    answer = member.answer(request)
    assert answer is not None
    assert answer.code == SUCCESS
    member.pass_time(5.0)
    assert sorted(member.bodies("T")) == [b"delayed", b"first", b"parked", b"timed"]


def test_a_delivery_under_way_at_a_pause_is_made_once() -> None:
    member = led()
    delayed(member, b"delayed")
    member.disk_is_stuck = True
    member.pass_time(1.5)
    pause(member, is_paused=True)
    member.disk_is_stuck = False
    member.pass_time(0.5)
    pause(member, is_paused=False)
    member.pass_time(5.0)
    assert member.bodies("T") == [b"first", b"delayed"]


def test_a_transaction_can_be_decided_right_after_a_pause() -> None:
    member = led()
    transactions = Transactions(member)
    half = transactions.prepare(b"pay")
    member.pass_time(1.0)
    pause(member, is_paused=True)
    member.pass_time(100.0)
    pause(member, is_paused=False)
    assert transactions.code(half, COMMIT) == SUCCESS


def test_a_reign_that_is_paused_before_it_serves_serves_later() -> None:
    master, follower = grouped()
    delayed(master, b"delayed")
    follower.copy(master)
    follower.state.store.safe = 0
    change_places(master, follower)
    pause(follower, is_paused=True)
    follower.state.store.safe = None
    follower.pass_time(5.0)
    assert not follower.state.serves
    pause(follower, is_paused=False)
    follower.pass_time(1.0)
    assert follower.bodies("T") == [b"first", b"delayed"]
