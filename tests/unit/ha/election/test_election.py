"""Tests the decision of one member whether it may become master."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from gantrymq.ha.disk.epochs import Epoch
from gantrymq.ha.election.election import COURTESY_SECONDS, PATIENCE_SECONDS, UNCLEAN_SECONDS, judge
from gantrymq.ha.election.verdict import ReceivedReport, Verdict, View
from gantrymq.ha.lease.lease import DURATION_SECONDS, NO_MEMBER, Lease, Mark, OperatorRequests
from gantrymq.ha.lease.member_id import MemberId
from gantrymq.ha.protocol.handshake import MemberReport

ALL = frozenset({1, 2, 3})
LEASE = Lease("7", holder=1, epoch=4, in_sync=ALL)
FREE = replace(LEASE, holder=NO_MEMBER)
CHANGED_AT = 100.0
LATER = CHANGED_AT + 3600.0


def member_report(
    end: int = 500, *, epoch: int = 4, last: int = 4, electable: bool = True
) -> MemberReport:
    return MemberReport(epoch, (Epoch(last, 0),), 0, end, is_electable=electable)


def verdict(
    lease: Lease | None,
    now: float = LATER,
    *,
    me: int = 2,
    ours: MemberReport | None = None,
    others: Mapping[int, MemberReport] | None = None,
    stall: str | None = None,
    trouble: str | None = None,
    touched_at: float = CHANGED_AT,
) -> Verdict:
    received_reports = {each: ReceivedReport(said, now) for each, said in (others or {}).items()}
    ours = member_report() if ours is None else ours
    view = View(me, ALL, ours, lease, CHANGED_AT, touched_at, received_reports, stall, trouble)
    return judge(view, now)


def test_held_lease_is_not_sought_for_its_whole_duration() -> None:
    early = verdict(LEASE, CHANGED_AT + DURATION_SECONDS - 0.01)
    assert early.epoch == 0
    assert early.again_at == CHANGED_AT + DURATION_SECONDS


def test_an_expired_lease_is_sought_with_the_next_epoch() -> None:
    assert verdict(LEASE, others={3: member_report()}).epoch == 5


def test_released_lease_is_sought_at_once() -> None:
    others = {1: member_report(499), 3: member_report(499)}
    assert verdict(FREE, CHANGED_AT, others=others).epoch == 5


def test_other_in_sync_members_are_waited_for_first() -> None:
    early = verdict(FREE, CHANGED_AT, others={3: member_report(499)})
    assert early.epoch == 0
    assert early.again_at == CHANGED_AT + COURTESY_SECONDS
    assert verdict(FREE, early.again_at, others={3: member_report(499)}).epoch == 5


def test_members_outside_isr_are_waited_for_as_they_may_know_a_newer_lease() -> None:
    alone = replace(FREE, in_sync=frozenset({2}))
    early = verdict(alone, CHANGED_AT, others={3: member_report(499)})
    assert early.epoch == 0
    assert early.again_at == CHANGED_AT + COURTESY_SECONDS
    assert verdict(alone, early.again_at, others={3: member_report(499)}).epoch == 5
    newer = {1: member_report(800, epoch=9), 3: member_report(499)}
    assert verdict(alone, early.again_at, others=newer).epoch == 0


@pytest.mark.parametrize(
    "better",
    [member_report(501), member_report(10, epoch=5, last=5)],
    ids=["a longer log", "a log of a later epoch"],
)
def test_member_with_more_goes_first_for_a_limited_time(better: MemberReport) -> None:
    lease = replace(FREE, epoch=better.epoch)
    ours = member_report(epoch=better.epoch)
    others = {1: member_report(1), 3: better}
    early = verdict(lease, CHANGED_AT + 1.0, ours=ours, others=others)
    assert early.epoch == 0
    assert "3 has more" in early.reason
    later = CHANGED_AT + PATIENCE_SECONDS
    assert verdict(lease, later, ours=ours, others=others).epoch == lease.epoch + 1


def test_the_preferred_one_goes_first_where_logs_are_equal() -> None:
    lease = replace(FREE, operator_requests=OperatorRequests(preferred=3))
    others = {1: member_report(), 3: member_report()}
    assert verdict(lease, CHANGED_AT + 1, others=others).epoch == 0
    assert (
        verdict(lease, CHANGED_AT + 1, me=3, others={1: member_report(), 2: member_report()}).epoch
        == 5
    )


def test_without_a_preferred_member_the_lowest_number_goes_first() -> None:
    others = {2: member_report(), 3: member_report()}
    assert verdict(FREE, CHANGED_AT + 1, me=1, others=others).epoch == 5
    assert verdict(FREE, CHANGED_AT + 1, others={1: member_report(), 3: member_report()}).epoch == 0


def test_chosen_successor_goes_first() -> None:
    lease = replace(FREE, successor=3)
    others = {1: member_report(1), 3: member_report(1)}
    assert verdict(lease, CHANGED_AT + 1, others=others).epoch == 0
    assert (
        verdict(
            lease, CHANGED_AT + 1, me=3, others={1: member_report(1), 2: member_report(1)}
        ).epoch
        == 5
    )
    assert verdict(lease, CHANGED_AT + PATIENCE_SECONDS, others=others).epoch == 5


def test_leaving_member_stays_in_sync_and_is_not_waited_for() -> None:
    chosen = replace(FREE, successor=2, leaver=1)
    assert verdict(chosen, CHANGED_AT).in_sync == {3}
    assert verdict(chosen, me=1).epoch, "where no other member takes it"
    taken = chosen.acquired(MemberId(2, ALL, "m2:10911", "m2:10912", "72" * 16), 5, frozenset({3}))
    assert (taken.successor, taken.leaver) == (NO_MEMBER, NO_MEMBER)


def test_only_in_sync_members_may_seek_the_lease() -> None:
    refused = verdict(replace(FREE, in_sync=frozenset({1, 3})))
    assert refused.epoch == 0
    assert "only members 1, 3 may" in refused.reason


def test_fenced_member_does_not_seek_the_lease() -> None:
    assert verdict(replace(FREE, fenced=frozenset({2})), others={3: member_report(1)}).epoch == 0


def test_member_whose_disk_stalls_does_not_seek_the_lease() -> None:
    assert verdict(FREE, stall="a sync takes long", trouble="a sync takes long").epoch == 0


def test_member_with_a_full_disk_lets_other_members_go_first_for_a_while() -> None:
    early = verdict(FREE, CHANGED_AT + 1.0, trouble="it is full")
    assert early.epoch == 0
    assert "it is full" in early.reason
    assert verdict(FREE, early.again_at, trouble="it is full").epoch == 5


def test_chosen_successor_leads_even_with_a_full_disk() -> None:
    assert verdict(replace(FREE, successor=2), CHANGED_AT, trouble="it is full").epoch == 5


def test_new_isr_has_the_present_members_with_complete_logs() -> None:
    others = {1: member_report(1, electable=False), 3: member_report(499)}
    assert verdict(LEASE, others=others).in_sync == {3}


# ---------------------------------------------------------------------- machines that went down


def test_a_machine_that_went_down_is_no_master_while_another_one_is_whole() -> None:
    ours = member_report(900, electable=False)
    others = {1: member_report(1), 3: member_report(899, electable=False)}
    assert verdict(FREE, ours=ours, others=others).epoch == 0


def test_of_equally_long_logs_the_one_with_the_longer_verified_part_wins() -> None:
    doubtful, sure = (member_report(electable=False)._replace(sure_to=to) for to in (200, 400))
    whole = member_report(electable=False)
    for ours, other, is_us in [
        (doubtful, sure, False),
        (sure, doubtful, True),
        (sure, whole, False),
        (whole, sure, True),
    ]:
        for numbers in ({1, 3}, {3}):  # a lower one would be taken, were there no other reason
            others = dict.fromkeys(numbers, other)
            lease = replace(FREE, in_sync=frozenset({2, *numbers}))
            assert (verdict(lease, ours=ours, others=others).epoch == 5) is is_us


def test_fenced_member_with_a_longer_verified_part_is_not_waited_for() -> None:
    ours = member_report(electable=False)._replace(sure_to=200)
    lease = replace(FREE, in_sync=frozenset({2, 3}), fenced=frozenset({3}))
    assert verdict(lease, ours=ours, others={3: member_report(electable=False)}).epoch == 5


def test_after_a_crash_of_all_machines_the_longest_log_is_elected_once_all_report() -> None:
    ours = member_report(900, electable=False)
    shorter = member_report(899, electable=False)
    assert verdict(FREE, ours=ours, others={3: shorter}).epoch == 0
    assert verdict(FREE, ours=ours, others={1: shorter, 3: shorter}).epoch == 5


NEW = MemberReport(4, (), 0, 0, is_electable=False)
"""A disk that has nothing of what its group had."""


def test_where_the_disk_of_the_only_one_of_the_set_is_new_the_longest_log_of_all_is_taken() -> None:
    alone = replace(FREE, in_sync=frozenset({1}))
    others = {2: member_report(500), 3: member_report(499, electable=False)}
    assert verdict(alone, me=1, ours=NEW, others=others).reason == "member 2 has more"
    assert verdict(alone, me=3, ours=others[3], others={1: NEW, 2: others[2]}).epoch == 0
    chosen = verdict(alone, me=2, ours=others[2], others={1: NEW, 3: others[3]})
    assert (chosen.epoch, chosen.in_sync, chosen.is_unclean) == (5, frozenset(), False)


def test_all_members_must_report_for_an_untrusted_lease() -> None:
    alone = replace(FREE, in_sync=frozenset({1}))
    assert verdict(alone, me=2, others={1: NEW}).epoch == 0
    assert verdict(alone, me=2, others={3: member_report()}).epoch == 0
    assert verdict(alone, me=1, ours=NEW, others={2: member_report()}).epoch == 0


def test_while_an_in_sync_member_has_a_log_it_is_elected() -> None:
    two = replace(FREE, in_sync=frozenset({1, 3}))
    lost = member_report(10, electable=False)
    assert verdict(two, me=2, others={1: NEW, 3: lost}).epoch == 0
    assert verdict(two, me=3, ours=lost, others={1: NEW, 2: member_report()}).epoch == 5


def test_a_master_that_comes_back_within_its_lease_goes_on_unless_another_log_is_longer() -> None:
    mine = replace(LEASE, holder=2)
    others = {1: member_report(499), 3: member_report(500)}
    assert verdict(mine, CHANGED_AT + COURTESY_SECONDS, others=others).epoch == 5
    longer = {1: member_report(499), 3: member_report(501)}
    assert verdict(mine, CHANGED_AT + PATIENCE_SECONDS, others=longer).epoch == 0


# ---------------------------------------------------------------------- loss that is allowed


def test_an_unclean_election_is_opt_in_and_comes_late() -> None:
    lease = replace(
        LEASE, in_sync=frozenset({1}), operator_requests=OperatorRequests(allows_unclean=True)
    )
    free_at = CHANGED_AT + DURATION_SECONDS
    assert verdict(lease, free_at + 1).epoch == 0
    late = verdict(lease, free_at + UNCLEAN_SECONDS)
    assert late.epoch == 5
    assert late.is_unclean
    assert "may be lost" in late.reason
    assert not late.in_sync


def test_no_unclean_election_while_a_member_of_the_set_is_there() -> None:
    lease = replace(
        LEASE, in_sync=frozenset({1}), operator_requests=OperatorRequests(allows_unclean=True)
    )
    assert verdict(lease, others={1: member_report(1)}).epoch == 0


def test_unclean_election_takes_the_longest_log_even_if_incomplete() -> None:
    lease = replace(
        FREE, in_sync=frozenset({1}), operator_requests=OperatorRequests(allows_unclean=True)
    )
    longer, whole = member_report(501, electable=False), member_report(500)
    assert verdict(lease, ours=longer, others={3: whole}).epoch == 5
    assert verdict(lease, ours=whole, others={3: longer}).epoch == 0
    kept_out = replace(lease, fenced=frozenset({3}))
    assert verdict(kept_out, ours=whole, others={3: longer}).epoch == 5


# ---------------------------------------------------------------------- a lease that was lost


MADE = Lease("8")


def test_missing_lease_is_created_first() -> None:
    others = {1: member_report(1), 3: member_report(499)}
    said = verdict(None, others=others)
    assert said.is_missing
    assert said.epoch == 0
    early = verdict(MADE, CHANGED_AT, others=others)
    assert (early.epoch, early.again_at) == (0, CHANGED_AT + DURATION_SECONDS)


@pytest.mark.parametrize("lease", [MADE, replace(FREE, epoch=3)], ids=["lost", "set back"])
def test_without_a_trusted_lease_all_members_must_report(lease: Lease) -> None:
    assert verdict(lease, others={1: member_report(1)}).epoch == 0
    assert verdict(lease, others={1: member_report(1), 3: member_report(499)}).epoch == 5


def test_without_a_lease_the_longest_log_wins_even_if_incomplete() -> None:
    ours = member_report(900, electable=False)
    assert verdict(MADE, ours=ours, others={1: member_report(1), 3: member_report(899)}).epoch == 5
    assert verdict(MADE, others={1: member_report(1), 3: member_report(501)}).epoch == 0


def test_next_epoch_is_above_each_epoch_that_a_member_has_seen() -> None:
    others = {1: member_report(1, epoch=9), 3: member_report(1)}
    assert verdict(replace(FREE, epoch=6), others=others).epoch == 10


def test_held_lease_that_was_set_back_is_not_sought() -> None:
    others = {1: member_report(1), 3: member_report(1)}
    held = replace(LEASE, epoch=3)
    assert verdict(held, CHANGED_AT + 1.0, others=others).epoch == 0
    assert verdict(held, others=others).epoch == 5


@pytest.mark.parametrize(
    "lease", [replace(LEASE, untrusted_reason="edited"), replace(LEASE, epoch=3)]
)
def test_untrusted_version_may_hide_an_unread_renewal(
    lease: Lease,
) -> None:
    others = {1: member_report(1), 3: member_report(1)}
    touched_at = LATER - 1.0
    found = verdict(lease, others=others, touched_at=touched_at)
    assert (found.epoch, found.again_at) == (0, touched_at + DURATION_SECONDS)
    assert verdict(lease, found.again_at, others=others, touched_at=touched_at).epoch == 5


def test_new_trusted_version_is_not_a_renewal() -> None:
    assert (
        verdict(LEASE, others={1: member_report(1), 3: member_report(1)}, touched_at=LATER).epoch
        == 5
    )


def test_old_report_does_not_count() -> None:
    old = {
        1: ReceivedReport(member_report(1), LATER - 1.0),
        3: ReceivedReport(member_report(1), LATER),
    }
    view = View(2, ALL, member_report(), None, CHANGED_AT, CHANGED_AT, old)
    assert judge(view, LATER).epoch == 0


def test_a_lease_that_was_set_back_to_our_own_is_waited_for_as_any_other() -> None:
    mine = replace(LEASE, holder=2, epoch=3)
    others = {1: member_report(1), 3: member_report(1)}
    assert verdict(mine, CHANGED_AT + 1.0, others=others).epoch == 0
    assert verdict(mine, CHANGED_AT + DURATION_SECONDS, others=others).epoch == 5


@pytest.mark.parametrize(
    ("lease", "now"),
    [
        (FREE, CHANGED_AT + COURTESY_SECONDS),
        (replace(FREE, epoch=3), LATER),
        (
            replace(
                FREE,
                in_sync=frozenset({3}),
                operator_requests=OperatorRequests(allows_unclean=True),
            ),
            LATER,
        ),
    ],
    ids=["of the set", "set back", "unclean"],
)
def test_fenced_member_does_not_go_before_an_equal_log(lease: Lease, now: float) -> None:
    is_unclean = lease.operator_requests.allows_unclean
    others = {1: member_report()} if is_unclean else {1: member_report(), 3: member_report(499)}
    assert verdict(lease, now, others=others).epoch == 0
    assert verdict(replace(lease, fenced=frozenset({1})), now, others=others).epoch == 5


def test_a_member_that_knows_of_no_epoch_counts_for_nothing() -> None:
    new = MemberReport(0, (), 0, 0, is_electable=True)
    lost = member_report(electable=False)
    assert verdict(FREE, others={1: member_report(), 3: new}).in_sync == {1}
    longest = member_report(501, electable=False)
    assert verdict(FREE, ours=longest, others={1: lost, 3: new}).epoch == 5


# ---------------------------------------------------------------------- identity and doubt

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
