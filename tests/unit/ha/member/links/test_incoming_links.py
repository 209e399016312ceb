"""Tests the incoming links of a member: admission, promises, and tables that followers stored."""

from __future__ import annotations

from gantrymq.fakes.groups.group import (
    EPOCH,
    Follower,
    Master,
    Pipe,
    connected,
    filled,
    member,
)
from gantrymq.ha.member.links.incoming_links import LINKS_MAX
from gantrymq.ha.member.links.member_events import Identified, NewerEpoch, Refused
from gantrymq.ha.member.links.outgoing_link import OutgoingLink
from gantrymq.ha.protocol.events import Ended, Ending
from gantrymq.ha.protocol.member_frames import Report
from gantrymq.ha.protocol.proofs import GroupSecret


def refused_reason(pipe: Pipe) -> str:
    (refused,) = (each for each in pipe.told_follower if isinstance(each, Refused))
    return refused.reason


# ---------------------------------------------------------------------- admission


def test_member_that_is_not_configured_is_refused() -> None:
    pipe = connected(Master(), Follower(9))
    assert refused_reason(pipe) == "unknown-member"
    assert not pipe.link.is_following


def test_newer_epoch_of_a_peer_is_reported_to_the_owner() -> None:
    master = filled(Master(), 3)
    pipe = connected(master, Follower(epoch=EPOCH + 1))
    assert refused_reason(pipe) == "stale"
    assert [type(each) for each in pipe.told_master] == [Identified, NewerEpoch]
    assert pipe.told_master[1] == NewerEpoch(EPOCH + 1)
    assert master.in_sync.acknowledged(Report(1 << 40, 0)) == 0


def test_epoch_of_a_disk_without_a_group_does_not_depose_a_master() -> None:
    """It may have it from another group, before members knew groups."""
    master = Master()
    master.group = "ab" * 16
    pipe = connected(master, Follower(epoch=EPOCH + 1))
    assert refused_reason(pipe) == "stale"
    assert [type(each) for each in pipe.told_master] == [Identified]


def test_members_do_not_follow_a_former_master() -> None:
    master, follower = Master(), Follower()
    pipe = connected(master, follower)
    master.followers.retire(master.now)
    assert [each.ending for each in master.round()] == [Ending.CLOSED]
    assert pipe.link.is_over
    master.followers.closed(pipe.link)
    assert refused_reason(connected(master, follower)) == "not-master"
    assert master.followers.deadline() == float("inf")


def test_a_member_has_one_link_and_the_newest_counts() -> None:
    master, follower = Master(), Follower()
    former = connected(master, follower)
    late = former.follower.link
    newer = Pipe(follower, master)
    follower.dial()
    newer.up()
    newer.down()
    newer.up()
    over = master.followers.turn(master.now)
    assert [(link, ended.ending) for link, ended in over] == [(former.link, Ending.REPLACED)]
    late.report(0, 0, 0, 0, 9.0)
    assert not master.followers.received(former.link, b"".join(late.take_output()), master.now)
    master.followers.closed(former.link)
    newer.run()
    assert newer.link.is_following
    assert len(master.followers.statuses(master.now)) == 1


def test_unproven_connections_make_room_and_members_do_not() -> None:
    master = Master()
    pipe = connected(master, Follower())
    strangers = [master.opened() for _ in range(LINKS_MAX - 1)]
    other = master.opened()
    ((first, ended),) = master.followers.turn(master.now)
    assert first is strangers[0]
    assert ended.ending is Ending.CLOSED
    master.followers.closed(first)
    assert not other.is_over
    assert pipe.link.is_following


def test_flood_from_one_address_displaces_only_its_own_connections() -> None:
    master = Master()
    other = master.opened("10.0.0.2:40000")
    flood = [master.opened() for _ in range(LINKS_MAX + 9)]
    ended = [link for link, _ in master.followers.turn(master.now)]
    assert ended == flood[:10]
    assert not other.is_over


def test_connections_without_a_proof_change_nothing() -> None:
    master = filled(Master({1}), 3)
    before = master.in_sync.counted, master.followers.safe
    link = master.opened()
    (ended,) = master.followers.received(link, b"\0" * 64, master.now)
    assert isinstance(ended, Ended)
    secret, member_report = GroupSecret(b"another"), Follower().member_report()
    stranger = OutgoingLink(member(2), secret, b"x" * 16, member_report, 0.0)
    link = master.opened()
    master.followers.received(link, b"".join(stranger.take_output()), master.now)
    (told,) = stranger.receive(b"".join(link.take_output()), 0.0)
    assert isinstance(told, Ended)
    assert (master.in_sync.counted, master.followers.safe) == before
    assert not master.followers.statuses(master.now)


def test_silent_link_is_ended_after_the_timeout() -> None:
    master = Master()
    pipe = connected(master, Follower())
    assert master.followers.deadline() <= master.now + 0.5
    assert not master.round(2.9)
    assert [each.ending for each in master.round(0.1)] == [Ending.SILENT]
    assert pipe.link.is_over
    assert not master.round(), "it is told once"


# ---------------------------------------------------------------------- promises


def test_the_last_question_that_all_have_answered_counts() -> None:
    master = Master({1, 2, 3})
    first, second = (connected(master, Follower(number)) for number in (2, 3))
    ask = master.followers.ask_promise
    assert master.followers.promised_since({1, 2, 3}) is None
    ask(1, 10.0)
    for pipe in (first, second):
        pipe.run(2)
    assert master.followers.promised_since({1, 2, 3}) == 10.0
    ask(2, 11.0)
    first.run(2)
    assert master.followers.promised_since({1, 2, 3}) == 10.0
    assert master.followers.promised_since({2}) == 11.0
    second.follower.promises = False
    second.run(2)
    assert master.followers.promised_since({2, 3}) == 10.0
    assert master.followers.promised_since({4}) is None
    assert master.followers.promised_since({1}) == 11.0, "no other member is needed"


def test_promises_do_not_apply_to_the_next_epoch() -> None:
    master = Master({1, 2})
    pipe = connected(master, Follower())
    master.followers.ask_promise(1, 10.0)
    pipe.run(2)
    assert master.followers.promised_since({2}) == 10.0
    master.followers.retire(master.now)
    assert master.followers.promised_since({2}) is None
    master.followers.lead(EPOCH + 1, master.in_sync, master.now)
    assert master.followers.promised_since({2}) is None


# ---------------------------------------------------------------------- tables


def test_tables_are_compared_each_second_while_a_member_follows() -> None:
    master = Master()
    assert master.followers.tables_at == float("inf")
    connected(master, Follower())
    assert master.followers.tables_at <= master.now + 1.0
    master.now += 0.5
    master.followers.tables({"offsets": b"1"}, master.now)
    assert master.followers.tables_at == master.now + 1.0


def test_what_one_link_had_stored_is_known_after_it_is_gone() -> None:
    master, follower = Master(), Follower()
    pipe = connected(master, follower)
    number = master.followers.tables({"offsets": b"1"}, master.now)
    pipe.run(2)
    master.followers.closed(pipe.link)
    assert master.followers.stored_by({1, 2}) == number
    later = master.followers.tables({"offsets": b"2"}, master.now)
    assert master.followers.stored_by({1, 2}) == number < later


def test_no_member_is_added_to_isr_before_the_tables_of_the_epoch_are_known() -> None:
    master, follower = Master({1}), Follower()
    master.followers.retire(master.now)
    master.followers.lead(EPOCH + 1, master.in_sync, master.now)
    pipe = connected(master, follower)
    before = master.in_sync.wanted(master.now)
    master.followers.tables({"topics": b"1"}, master.now)
    pipe.run(2)
    assert (before, master.in_sync.wanted(master.now)) == (None, frozenset({1, 2}))


def test_returning_member_counts_only_what_it_stores_again() -> None:
    master = Master()
    number = master.followers.tables({"topics": b"1"}, master.now)
    pipe = connected(master, Follower())
    assert master.followers.stored_by({1, 2}) == number
    master.followers.closed(pipe.link)
    again = Follower()  # it lost its files meanwhile
    pipe = Pipe(again, master)
    again.dial()
    pipe.run(2)
    again.stored = 0
    again.now += 0.5
    again.link.expire(again.now)
    pipe.up()
    assert pipe.link.is_following
    assert master.followers.stored_by({1, 2}) < number


def test_stored_tables_do_not_count_in_the_next_epoch() -> None:
    master, follower = Master(), Follower()
    pipe = connected(master, follower)
    master.followers.tables({"offsets": b"1"}, master.now)
    pipe.run(2)
    master.followers.retire(master.now)
    master.followers.lead(EPOCH + 1, master.in_sync, master.now)
    number = master.followers.tables({"offsets": b"1"}, master.now)
    assert master.followers.stored_by({1, 2}) < number
