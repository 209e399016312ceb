"""Tests which sends a master acknowledges as its incoming links report, and what is safe."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gantrymq.fakes.groups.group import (
    EPOCH,
    Follower,
    Master,
    Pipe,
    connected,
    filled,
    follower_of,
)
from gantrymq.fakes.stores.store import SYNC
from gantrymq.ha.member.links.member_events import HeartbeatReceived
from gantrymq.ha.member.links.safe_position import RETURN_SECONDS
from gantrymq.ha.protocol.member_frames import Report
from gantrymq.store.record.put_status import PutStatus

# ---------------------------------------------------------------------- what is acknowledged


@pytest.mark.parametrize("have", [1, 2])
def test_all_of_the_set_are_waited_for(have: int) -> None:
    master = Master({1, 2, 3})
    pipes = [connected(master, Follower(number)) for number in (2, 3)]
    (number,) = master.put(1)
    for pipe in pipes[:have]:
        pipe.run(1)
        pipe.up()
    assert [each.number for each in master.turn().answers] == ([number] if have == 2 else [])


def master_for_a_while(in_sync: set[int]) -> Master:
    """It waits for members that come back no more."""
    master = Master(in_sync, min_in_sync=2)
    master.round(RETURN_SECONDS)
    return master


def test_sends_to_a_new_master_wait_for_members_that_come_back() -> None:
    master = Master({1}, min_in_sync=2)
    master.put(1)
    master.round(RETURN_SECONDS / 2)
    pipe = connected(master, Follower())
    pipe.run(1)
    assert not master.turn().answers
    master.in_sync.propose(frozenset({1, 2}))
    master.in_sync.confirmed({1, 2})
    master.followers.turn(master.now)
    assert [each.status for each in master.turn().answers] == [PutStatus.PUT_OK]


def test_sends_to_a_new_master_wait_for_members_so_long_and_no_longer() -> None:
    master = Master({1}, min_in_sync=2)
    began = master.now
    master.put(1)
    master.round(RETURN_SECONDS - 0.1)
    assert not master.turn().answers
    assert master.followers.deadline() == began + RETURN_SECONDS
    master.round(0.1)
    assert [each.status for each in master.turn().answers] == [PutStatus.SLAVE_NOT_AVAILABLE]
    assert master.followers.deadline() > began + RETURN_SECONDS


def test_a_master_that_was_left_alone_does_not_wait() -> None:
    master = master_for_a_while({1})
    master.put(1)
    assert [each.status for each in master.turn().answers] == [PutStatus.SLAVE_NOT_AVAILABLE]


def test_below_the_minimum_nothing_is_acknowledged() -> None:
    master = master_for_a_while({1, 2})
    connected(master, Follower())
    master.in_sync.propose(frozenset({1}))
    master.in_sync.confirmed({1})
    master.round()
    master.put(1)
    (answer,) = master.turn().answers
    assert answer.status is PutStatus.SLAVE_NOT_AVAILABLE
    assert "in sync are 1 (1)" in answer.remark
    assert "minInSyncReplicas is 2" in answer.remark
    assert "mqadmin haStatus" in answer.remark


def test_members_of_an_untrusted_lease_do_not_count_for_the_minimum() -> None:
    master = master_for_a_while({1})
    connected(master, Follower())
    master.in_sync.confirmed({1}, {1, 2})
    master.round()
    master.put(1)
    (answer,) = master.turn().answers
    assert answer.status is PutStatus.SLAVE_NOT_AVAILABLE
    assert "in sync are 1 (1)" in answer.remark


def test_waiting_sends_are_answered_at_once_when_isr_gets_too_small() -> None:
    master = master_for_a_while({1, 2})
    connected(master, Follower())
    numbers = master.put(1, 2)
    master.round()
    master.in_sync.propose(frozenset({1}))
    master.round()
    assert not master.turn().answers, "the set may stay as it is"
    master.in_sync.confirmed({1})
    master.followers.turn(master.now)
    answers = master.turn().answers
    assert [each.number for each in answers] == numbers
    assert {each.status for each in answers} == {PutStatus.SLAVE_NOT_AVAILABLE}
    assert "in sync are 1 (1)" in answers[0].remark
    assert master.store.waiters.is_empty


def test_waiting_sends_are_acknowledged_if_isr_stays_large_enough() -> None:
    master = Master({1, 2}, min_in_sync=2)
    pipe = connected(master, Follower())
    master.put(1)
    pipe.run(1)
    master.in_sync.propose(frozenset({1}))
    pipe.up()
    assert not master.turn().answers
    master.in_sync.confirmed({1, 2})
    master.followers.turn(master.now)
    assert [each.status for each in master.turn().answers] == [PutStatus.PUT_OK]


def test_shrink_that_leaves_enough_members_acknowledges_waiting_sends() -> None:
    master = Master({1, 2, 3}, min_in_sync=2)
    pipes = [connected(master, Follower(number)) for number in (2, 3)]
    master.put(1)
    pipes[0].run()
    master.in_sync.propose(frozenset({1, 2}))
    master.followers.turn(master.now)
    assert not master.turn().answers
    master.in_sync.confirmed({1, 2})
    master.followers.turn(master.now)
    assert [each.status for each in master.turn().answers] == [PutStatus.PUT_OK]


def test_from_just_before_a_shrink_below_the_minimum_nothing_is_acknowledged() -> None:
    master = Master({1, 2}, min_in_sync=2)
    pipe = connected(master, Follower())
    master.put(1)
    master.in_sync.propose(frozenset({1}))
    pipe.run()
    assert all(each.status is not PutStatus.PUT_OK for each in master.turn(3.0).answers)


def test_a_master_alone_is_enough_where_that_is_the_minimum() -> None:
    master = Master({1}, min_in_sync=1)
    master.put(1)
    master.round()
    assert [each.status for each in master.turn().answers] == [PutStatus.PUT_OK]
    assert master.followers.safe == master.store.log.end == master.store.safe


def test_a_group_that_flushes_waits_for_all_disks() -> None:
    master = Master({1, 2}, settings=SYNC)
    follower = Follower(settings=SYNC)
    pipe = connected(master, follower)
    master.put(1)
    pipe.run()
    assert follower.store.log.end == master.store.log.end
    assert master.followers.safe == 0
    follower.turn()
    follower.background.complete_all()
    follower.turn(0.1)
    follower.background.complete_all()
    follower.turn()
    pipe.up()
    assert pipe.link.report.flushed == master.store.log.end
    assert master.followers.safe == 0, "our own disk has not got it"
    master.background.complete_all()
    assert [each.status for each in master.turn().answers] == []
    master.followers.turn(master.now)
    assert [each.status for each in master.turn().answers] == [PutStatus.PUT_OK]
    assert master.followers.safe == master.store.log.end


def test_disconnected_member_is_not_added_to_isr() -> None:
    master = filled(Master({1}), 3)
    pipe = connected(master, Follower())
    assert master.in_sync.wanted(master.now) == frozenset({1, 2})
    master.followers.closed(pipe.link)
    assert master.in_sync.wanted(master.now) is None
    assert master.in_sync.counted == frozenset({1})


def came_back(master: Master, end: int) -> Pipe:
    """Member 2 of the set had everything, and has the log up to here only; nothing came yet."""
    pipe = connected(master, Follower())
    assert pipe.link.report.received == master.store.log.end
    master.followers.closed(pipe.link)
    follower = follower_of(master, end)
    follower.dial()
    again = Pipe(follower, master)
    for _ in range(2):
        again.up()
        again.down()
    assert again.link.is_following
    return again


def test_in_sync_member_that_returns_with_less_is_removed() -> None:
    for messages in (0, 1):
        master = filled(Master({1, 2}), messages)
        end = master.store.log.end
        pipe = came_back(filled(master, 40, messages), end)
        master.round()
        data = b"".join(pipe.link.take_output())
        for _ in range(4):
            master.now += 0.4
            pipe.follower.now += 0.4
            pipe.follower.receive(data[:1000])
            data = data[1000:]
            pipe.up()
        assert end < pipe.link.report.received < master.store.log.end
        assert master.in_sync.wanted(master.now) == frozenset({1})


def test_in_sync_member_that_returns_with_less_stays_once_it_catches_up() -> None:
    master = filled(Master({1, 2}), 40)
    pipe = came_back(master, 0)
    master.put(41)
    pipe.run()
    assert master.in_sync.wanted(master.now + 1.4) is None
    assert master.followers.safe == master.store.log.end


def test_a_fenced_member_follows_and_does_not_count() -> None:
    master = Master({1})
    master.in_sync.fenced = frozenset({2})
    filled(master, 3)
    follower = Follower()
    connected(master, follower)
    assert follower.store.log.end == master.store.log.end
    assert master.in_sync.wanted(master.now) is None
    master.in_sync.fenced = frozenset()
    connected(master, follower)
    assert master.in_sync.wanted(master.now) == frozenset({1, 2})


def test_member_without_the_start_of_the_log_is_not_added_to_isr() -> None:
    master = filled(Master({1}), 60)
    follower = follower_of(master, master.store.log.end)
    follower.store.log.remove_first()
    follower.background.complete_all()
    follower.turn()
    assert follower.store.log.start > master.store.log.start
    pipe = connected(master, follower)
    assert pipe.link.is_following
    assert master.in_sync.wanted(master.now) is None
    master.store.log.remove_first()
    master.background.complete_all()
    master.turn()
    follower.now += 0.5
    follower.link.expire(follower.now)
    pipe.run()
    assert master.in_sync.wanted(master.now) == frozenset({1, 2})


# ---------------------------------------------------------------------- the safe mark


def test_the_safe_mark_never_goes_back() -> None:
    master = filled(Master({1}, min_in_sync=1), 10)
    master.round()
    safe = master.followers.safe
    assert safe == master.store.log.end
    master.in_sync.confirmed({1, 2})
    master.round()
    assert master.in_sync.acknowledged(Report(safe, safe)) == 0
    assert master.followers.safe == safe


def test_epoch_begins_with_the_safe_position_of_consumers() -> None:
    master = filled(Master(leads=False), 10)
    master.store.safe = 500
    master.followers.lead(EPOCH, master.in_sync, master.now)
    assert master.followers.safe == master.store.safe == 500


def test_a_master_that_does_not_wait_tells_what_queues_know() -> None:
    master = Master(waits=False, leads=False)
    master.store.safe = 0
    master.followers.lead(EPOCH, master.in_sync, master.now)
    follower = Follower()
    pipe = connected(master, follower)
    master.round(0.02)
    master.put(1)
    assert [each.status for each in master.turn().answers] == [PutStatus.PUT_OK]
    pipe.run()
    assert follower.beat is not None
    assert follower.beat.safe == master.store.log.end
    assert master.store.safe is None


def test_a_master_that_flushes_tells_no_more_than_what_is_on_its_disk() -> None:
    master = Master(waits=False, settings=SYNC)
    master.put(1)
    master.round()
    assert master.followers.safe == 0
    master.background.complete_all()
    master.round()
    assert master.followers.safe == master.store.log.end


def test_a_safe_mark_leaves_soon_after_the_acknowledgement() -> None:
    master = Master()
    pipe = connected(master, Follower())
    master.followers.tables({}, master.now)
    master.put(1)
    pipe.run(1)
    pipe.up()
    master.followers.turn(master.now)
    assert master.now < master.followers.deadline() <= master.now + 0.02
    pipe.told_follower.clear()
    master.round(0.02)
    pipe.down()
    (beaten,) = pipe.told_follower
    assert isinstance(beaten, HeartbeatReceived)
    assert beaten.heartbeat.safe == master.store.log.end


# ---------------------------------------------------------------------- whatever happens

step = st.tuples(
    st.sampled_from(["put", "send", "report", "lie", "cut", "garbage", "wait"]),
    st.integers(2, 3),
    st.integers(0, 400),
)


@settings(max_examples=25)
@given(st.lists(step, max_size=40))
def test_nothing_is_acknowledged_that_the_set_was_not_sent(
    story: list[tuple[str, int, int]],
) -> None:
    """Followers that report what they like, and say anything; links that end at any moment."""
    master = Master({1, 2, 3})
    pipes = {number: connected(master, Follower(number)) for number in (2, 3)}
    sent = dict.fromkeys((2, 3), 0)
    for what, number, amount in story:
        pipe = pipes[number]
        follower = pipe.follower
        if what == "put":
            master.put(amount)
        elif what == "send":
            master.round()
        elif what == "report":
            pipe.down()
            pipe.up()
        elif what == "lie":
            follower.link.report(amount * 20, amount * 10, amount, amount, follower.now)
            data = b"".join(follower.link.take_output())
            master.followers.received(pipe.link, data, master.now)
        elif what == "garbage":
            master.followers.received(pipe.link, amount.to_bytes(2) * 9, master.now)
        elif what == "cut":
            sent[number] = max(sent[number], pipe.link.stream.sent)
            master.followers.closed(pipe.link)
            pipes[number] = connected(master, follower)
        else:
            master.now += amount / 1000
        for each, one in pipes.items():
            sent[each] = max(sent[each], one.link.stream.sent)
        assert master.in_sync.acknowledged(Report(1 << 40, 1 << 40)) <= min(sent.values())
        assert master.followers.safe <= min(*sent.values(), master.store.log.end)
