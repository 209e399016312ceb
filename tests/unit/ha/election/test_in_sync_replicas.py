"""Tests which members count for acknowledgements, and from when until when."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.ha.election.in_sync_replicas import LAG_SECONDS, PROGRESS_SECONDS, InSyncReplicas
from gantrymq.ha.protocol.member_frames import Report

ME = 1


def has(end: int, flushed: int | None = None) -> Report:
    return Report(end, end if flushed is None else flushed)


def of(*members: int, flushes: bool = False) -> InSyncReplicas:
    return InSyncReplicas(ME, set(members), 0.0, flushes=flushes)


def test_all_members_of_the_set_have_what_is_acknowledged() -> None:
    group = of(1, 2, 3)
    assert group.acknowledged(has(100)) == 0
    group.reported(2, has(70), 100, 0.1)
    group.reported(3, has(90), 100, 0.1)
    assert group.acknowledged(has(100)) == 70
    assert group.acknowledged(has(50)) == 50


def test_follower_outside_isr_does_not_count() -> None:
    group = of(1, 2)
    group.reported(2, has(100), 100, 0.1)
    group.reported(3, has(5), 100, 0.1)
    assert group.acknowledged(has(100)) == 100


def test_what_is_only_in_the_log_is_not_on_the_disk() -> None:
    group = of(1, 2, flushes=True)
    group.reported(2, has(100, flushed=60), 100, 0.1)
    assert group.acknowledged(has(100, flushed=80)) == 60
    assert group.acknowledged(has(100, flushed=40)) == 40


def test_follower_without_progress_is_removed_and_counts_until_then() -> None:
    group = of(1, 2, 3)
    for now in (0.5, 1.0, 1.5, 2.0):
        group.reported(2, has(50), 100, now)
        group.reported(3, has(100), 100, now)
    assert group.deadline() == 0.5 + PROGRESS_SECONDS
    wanted = group.wanted(2.0)
    assert wanted == frozenset({1, 3})
    group.propose(wanted)
    assert group.wanted(9.0) is None, "one at a time"
    assert group.acknowledged(has(100)) == 50
    assert group.size == 2
    group.confirmed(wanted)
    assert group.acknowledged(has(100)) == 100


def test_leaving_follower_is_removed_at_once_and_counts_until_then() -> None:
    group = of(1, 2, 3)
    group.reported(2, has(70), 100, 0.1)
    group.reported(3, has(100), 100, 0.1)
    group.reported(2, Report(80, 80, is_leaving=True), 100, 0.2)
    wanted = group.wanted(0.2)
    assert wanted == frozenset({1, 3})
    group.propose(wanted)
    assert group.acknowledged(has(100)) == 80
    group.confirmed(wanted)
    assert group.acknowledged(has(100)) == 100


def test_acknowledged_messages_are_flushed_while_isr_shrinks() -> None:
    group = of(1, 2, 3)
    for member in (2, 3):
        group.reported(member, has(90, flushed=0), 100, 0.1)
    ours = has(100, flushed=40)
    assert group.acknowledged(ours) == 90
    group.prepare(frozenset({1, 2}))
    assert group.acknowledged(ours) == 40
    group.propose(frozenset({1, 2}))
    assert group.acknowledged(ours) == 40
    group.confirmed(frozenset({1, 2}))
    assert group.acknowledged(ours) == 90
    for wanted in (frozenset({1, 2, 3}), None):
        group.prepare(wanted)
        assert group.acknowledged(ours) == 90, "no member is removed"


def test_follower_that_stops_leaving_stays() -> None:
    group = of(1, 2)
    group.reported(2, Report(100, 100, is_leaving=True), 100, 0.1)
    group.lost(2)
    assert group.wanted(0.1) == frozenset({1})
    group.reported(2, has(100), 100, 0.2)
    assert group.wanted(0.2) is None


def test_fenced_follower_is_removed_at_once_and_not_added() -> None:
    group = of(1, 2)
    group.fenced = frozenset({2, 3})
    for member in (2, 3):
        group.reported(member, has(100), 100, 0.1)
        group.reported(member, has(100), 100, 0.2)
    assert group.counted == {1, 2}
    assert group.wanted(0.2) == frozenset({1})


def test_proposed_member_is_electable_and_a_joining_one_is_not() -> None:
    group = of(1, 2)
    for now in (0.1, 0.2):
        group.reported(3, has(100), 100, now)
    assert group.electable == {1, 2}
    assert group.counted == {1, 2, 3}
    group.propose(frozenset({1, 3}))
    assert group.electable == {1, 2, 3}
    group.confirmed({1, 3})
    assert group.electable == {1, 3}


def test_members_that_only_an_untrusted_lease_names_count_but_are_not_trusted() -> None:
    group = of(1)
    group.confirmed({1}, {1, 2, 3})
    group.reported(2, has(70), 100, 0.1)
    assert group.acknowledged(has(100)) == 0
    assert group.size == 1
    group.confirmed({1})
    assert group.acknowledged(has(100)) == 100


def test_follower_with_a_full_disk_does_not_join() -> None:
    group = of(1)
    group.reported(2, Report(100, 100, is_refusing=True), 100, 0.1)
    assert group.counted == {1}
    group.reported(2, has(100), 100, 0.2)
    assert group.counted == {1, 2}


def test_joining_follower_that_leaves_delays_no_send() -> None:
    group = of(1)
    group.reported(2, Report(100, 100, is_leaving=True), 100, 0.1)
    group.turn(0.1)
    assert group.counted == {1}


def test_follower_with_nothing_to_copy_makes_progress() -> None:
    group = of(1, 2)
    for now in range(10):
        group.reported(2, has(100), 100, float(now))
    assert group.wanted(9.5) is None
    assert group.wanted(9.0 + PROGRESS_SECONDS) == frozenset({1})


def test_joining_follower_counts_before_it_is_proposed() -> None:
    group = of(1)
    group.reported(2, has(60), 100, 1.0)
    assert group.wanted(1.0) is None, "it has not caught up"
    group.reported(2, has(100), 100, 1.1)
    wanted = group.wanted(1.1)
    assert wanted == frozenset({1, 2})
    group.propose(wanted)
    assert group.acknowledged(has(120)) == 100
    group.confirmed({1})
    assert group.acknowledged(has(120)) == 120


def test_disconnected_joining_follower_has_to_catch_up_again() -> None:
    group = of(1)
    group.reported(2, has(100), 100, 1.0)
    group.lost(2)
    group.reported(2, has(100), 130, 1.2)
    assert group.wanted(1.2) is None


def test_members_that_the_lease_brings_count_at_once() -> None:
    group = of(1)
    group.confirmed({1, 2})
    assert group.acknowledged(has(100)) == 0
    assert group.wanted(5.0) == frozenset({1})


step = st.tuples(
    st.sampled_from(["heard", "lost", "propose", "settle new", "settle old", "write"]),
    st.integers(2, 4),
    st.integers(0, 30),
)


@pytest.mark.parametrize("flushes", [False, True])
@given(st.lists(step, max_size=60))
def test_each_electable_member_has_all_acknowledged_messages(
    flushes: bool, story: list[tuple[str, int, int]]
) -> None:
    """The lease has one of two sets while a proposal is under way; either of them may be it."""
    group = of(1, 2, flushes=flushes)
    have: dict[int, Report] = {}
    now, end = 0.0, 0
    old, new = group.persisted, group.persisted
    for what, member, amount in story:
        now += amount / 20
        if what == "write":
            end += amount
        elif what == "heard":
            before = have.get(member, has(0, 0))
            received = min(end, before.received + amount)
            have[member] = has(received, min(received, before.flushed + amount // 2))
            group.reported(member, have[member], end, now)
        elif what == "lost":
            group.lost(member)
        elif what == "propose" and (wanted := group.wanted(now)) is not None:
            old, new = group.persisted, wanted
            group.propose(wanted)
        elif what.startswith("settle"):
            old = new = new if what == "settle new" else old
            group.confirmed(old)
        acknowledged = group.acknowledged(has(end))
        for elected in (old | new) - {ME}:
            report = have.get(elected, has(0, 0))
            assert (report.flushed if flushes else report.received) >= acknowledged


def test_follower_that_keeps_up_with_a_busy_master_joins_soon() -> None:
    group = of(1)
    for step in range(1, 3):
        group.reported(2, has(100 * step), 100 * step + 50, 0.1 * step)
    assert group.counted == {1, 2}
    assert group.wanted(0.2) is None, "what was acknowledged before it counted is not there yet"
    group.reported(2, has(251), 400, 0.3)
    assert group.wanted(0.3) == frozenset({1, 2})


def test_joining_follower_that_stalls_delays_sends_only_briefly() -> None:
    group = of(1)
    group.reported(2, has(100), 150, 0.1)
    group.reported(2, has(160), 900, 0.2)
    assert group.acknowledged(has(900)) == 160
    group.turn(group.deadline())
    assert group.acknowledged(has(900)) == 900


def test_follower_far_behind_does_not_join_by_reaching_an_old_end() -> None:
    group = of(1)
    group.reported(2, has(0), 1000, 0.0)
    group.reported(2, has(1000), 900_000, 60.0)
    assert group.counted == {1}


def test_follower_slower_than_producers_is_removed() -> None:
    group = of(1, 2)
    wanted = None
    for step in range(1, 50):
        group.reported(2, has(100 * step), 1000 * step, 0.1 * step)
        wanted = group.wanted(0.1 * step)
        if wanted is not None:
            break
    assert wanted == frozenset({1})
    assert LAG_SECONDS <= 0.1 * step <= LAG_SECONDS + 1.1


def test_joined_follower_that_stalls_during_an_outage_stops_counting() -> None:
    group = of(1)
    group.reported(2, has(100), 100, 1.0)
    assert group.counted == {1, 2}
    group.turn(1.0 + PROGRESS_SECONDS)
    assert group.counted == {1}
