"""Tests the election where disks and leases name the group and the disk that they belong to."""

from __future__ import annotations

from dataclasses import replace

from gantrymq.fakes.groups.elections import (
    ALL,
    CHANGED_AT,
    FREE,
    LATER,
    member_report,
    verdict,
)
from gantrymq.ha.election.election import judge
from gantrymq.ha.election.verdict import Verdict, View
from gantrymq.ha.lease.lease import DURATION_SECONDS, Mark, OperatorRequests
from gantrymq.ha.protocol.handshake import MemberReport

OURS, ANOTHER, GROUP = "01" * 16, "02" * 16, "ab" * 16
NAMED = replace(FREE, group=GROUP, disks={1: "d1" * 16, 2: OURS, 3: "d3" * 16})


def on(disk: str, member_report: MemberReport, group: str = GROUP) -> MemberReport:
    return member_report._replace(disk=disk, group=group)


def test_another_disk_in_a_seat_of_the_set_may_not_lead() -> None:
    others = {1: on("d1" * 16, member_report(400)), 3: on("d3" * 16, member_report(400))}
    assert verdict(NAMED, ours=on(OURS, member_report(500)), others=others).epoch == 5
    found = verdict(NAMED, ours=on(ANOTHER, member_report(500)), others=others)
    assert found.epoch == 0
    assert "only members 1, 2, 3 may be master" in found.reason


def test_foreign_disk_does_not_count_as_a_report() -> None:
    torn = on(OURS, member_report(500, electable=False))
    heard = {
        1: on("d1" * 16, member_report(400)),
        3: on("d3" * 16, member_report(400, electable=False)),
    }
    assert verdict(NAMED, ours=torn, others=heard).epoch == 0, "1 is whole"
    swapped = {
        1: on(ANOTHER, member_report(400)),
        3: on("d3" * 16, member_report(400, electable=False)),
    }
    assert "missing members 1" in verdict(NAMED, ours=torn, others=swapped).reason


def test_report_of_a_disk_of_another_group_is_ignored() -> None:
    foreign = on("d1" * 16, member_report(9000, epoch=9, last=9), "cd" * 16)
    others = {1: foreign, 3: on("d3" * 16, member_report(400))}
    assert verdict(NAMED, ours=on(OURS, member_report(500)), others=others).epoch == 5


def test_lease_is_untrusted_if_a_member_has_seen_a_newer_one() -> None:
    newer = on("d1" * 16, member_report(500))._replace(mark=Mark(4, 9))
    others = {1: newer, 3: on("d3" * 16, member_report(400))}
    assert verdict(NAMED, ours=on(OURS, member_report(500)), others=others).reason != ""
    without = {1: newer}
    found = verdict(NAMED, ours=on(OURS, member_report(500)), others=without)
    assert "all members must report first, missing members 3" in found.reason


def test_for_an_untrusted_lease_each_member_must_report_with_its_disk() -> None:
    doubted = replace(NAMED, untrusted_reason="it was edited")
    ours = on(OURS, member_report(500))
    others = {1: on("d1" * 16, member_report(400)), 3: on("d3" * 16, member_report(400))}
    assert verdict(doubted, ours=ours, others=others).epoch == 5
    swapped = {**others, 3: on(ANOTHER, member_report(400))}
    assert "it was edited: all members must report first, missing members 3" in (
        verdict(doubted, ours=ours, others=swapped).reason
    )


def test_members_with_different_untrusted_leases_choose_the_same_master() -> None:
    """Two members that each prefer the other would wait forever."""
    torn = on(OURS, MemberReport(1, (), 0, 0, is_electable=False))
    new = on("d3" * 16, MemberReport(0, (), 0, 0, is_electable=True), "")
    third = on("d1" * 16, MemberReport(1, (), 0, 0, is_electable=False))
    chosen = []
    for me, ours, epoch in ((2, torn, 0), (3, new, 1)):
        lease = replace(NAMED, epoch=epoch, in_sync=frozenset(), untrusted_reason="it was edited")
        others = {1: third, 2: torn, 3: new}
        del others[me]
        chosen.append(verdict(lease, me=me, ours=ours, others=others).reason)
    assert chosen == ["member 1 has more"] * 2


def test_empty_disk_does_not_choose_among_several_groups() -> None:
    unreadable = replace(FREE, untrusted_reason="it cannot be read", in_sync=frozenset(), epoch=0)
    empty = on(ANOTHER, member_report(1), "")
    same = {1: on("d1" * 16, member_report(0)), 3: on("d3" * 16, member_report(0))}
    assert verdict(unreadable, ours=empty, others=same).epoch
    mixed = {**same, 3: on("d3" * 16, member_report(0), "cd" * 16)}
    found = verdict(unreadable, ours=empty, others=mixed)
    assert not found.epoch
    assert "gantry store archive" in found.reason


def test_unclean_election_is_allowed_after_a_while() -> None:
    doubted = replace(
        NAMED,
        untrusted_reason="it was deleted",
        operator_requests=OperatorRequests(allows_unclean=True),
    )
    ours, others = on(OURS, member_report(500)), {1: on("d1" * 16, member_report(400))}
    early = verdict(doubted, CHANGED_AT + DURATION_SECONDS, ours=ours, others=others)
    assert early.epoch == 0
    late = verdict(doubted, early.again_at, ours=ours, others=others)
    assert late.epoch == 5
    assert late.is_unclean


def test_unclean_election_while_other_in_sync_members_are_silent() -> None:
    torn = on(OURS, member_report(500, electable=False))
    willing = replace(NAMED, operator_requests=OperatorRequests(allows_unclean=True))
    early = verdict(willing, CHANGED_AT + 1.0, ours=torn)
    assert early.epoch == 0
    late = verdict(willing, early.again_at, ours=torn)
    assert late.epoch == 5
    assert late.is_unclean
    assert "members 1, 3 do not report" in late.reason
    assert verdict(NAMED, ours=torn).epoch == 0


def test_member_with_a_foreign_disk_takes_no_part() -> None:
    view = View(
        2, ALL, member_report(), FREE, CHANGED_AT, CHANGED_AT, {}, foreign_reason="of another group"
    )
    assert judge(view, LATER) == Verdict("of another group")


def test_member_whose_disk_knows_the_group_creates_a_missing_lease() -> None:
    known = on(OURS, member_report(500))
    gone = replace(NAMED, version="", untrusted_reason="it was deleted")
    early = verdict(gone, CHANGED_AT + 1.0, ours=known)
    assert not early.is_missing
    assert verdict(gone, early.again_at, ours=known).is_missing
    assert not verdict(None, ours=blank(), others={1: known}).is_missing


def test_lease_of_a_new_group_is_created_when_all_members_report() -> None:
    assert not verdict(None, ours=blank(), others={1: blank()}).is_missing
    assert verdict(None, ours=blank(), others={1: blank(), 3: blank()}).is_missing


def test_disks_of_several_groups_create_no_lease() -> None:
    found = verdict(
        None, ours=on(OURS, member_report()), others={1: on(ANOTHER, member_report(), "cd" * 16)}
    )
    assert not found.is_missing
    assert "members 1, 2 belong to several groups" in found.reason


def test_lease_of_an_earlier_process_is_released_if_another_member_has_more() -> None:
    mine = replace(NAMED, holder=2)
    torn = on(OURS, member_report(400, electable=False))
    others = {1: on("d1" * 16, member_report(500)), 3: on("d3" * 16, member_report(500))}
    assert verdict(mine, ours=torn, others=others).is_given_up
    assert not verdict(NAMED, ours=torn, others=others).is_given_up


def blank() -> MemberReport:
    return MemberReport(0, (), 0, 0, is_electable=True)


def test_a_fenced_member_with_more_is_not_waited_for_where_loss_is_allowed() -> None:
    doubted = replace(NAMED, untrusted_reason="it was deleted", fenced=frozenset({1}))
    ours = on(OURS, member_report(500))
    others = {1: on("d1" * 16, member_report(900)), 3: on("d3" * 16, member_report(400))}
    assert "member 1 has more" in verdict(doubted, ours=ours, others=others).reason
    willing = replace(doubted, operator_requests=OperatorRequests(allows_unclean=True))
    early = verdict(willing, CHANGED_AT + DURATION_SECONDS, ours=ours, others=others)
    assert early.epoch == 0
    late = verdict(willing, early.again_at, ours=ours, others=others)
    assert late.epoch == 5
    assert late.is_unclean


def test_the_lease_of_a_process_with_our_number_and_another_disk_is_not_ours() -> None:
    held = replace(NAMED, holder=2)
    assert verdict(held, CHANGED_AT + 1.0, ours=on(OURS, member_report(500))).epoch == 5
    twin = verdict(held, CHANGED_AT + 1.0, ours=on(ANOTHER, member_report(500)))
    assert twin.again_at == CHANGED_AT + DURATION_SECONDS
