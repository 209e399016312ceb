"""Tests the decision of one member whether it may become master."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.fakes.groups.elections import (
    ALL,
    CHANGED_AT,
    FREE,
    LEASE,
    member_report,
    verdict,
)
from gantrymq.ha.election.election import COURTESY_SECONDS, PATIENCE_SECONDS, UNCLEAN_SECONDS
from gantrymq.ha.lease.lease import DURATION_SECONDS, NO_MEMBER, OperatorRequests
from gantrymq.ha.lease.member_id import MemberId
from gantrymq.ha.protocol.handshake import MemberReport


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
