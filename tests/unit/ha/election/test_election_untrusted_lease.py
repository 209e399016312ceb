"""Tests the election where the Lease is missing, was set back or cannot be trusted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.fakes.groups.elections import (
    ALL,
    CHANGED_AT,
    FREE,
    LATER,
    LEASE,
    member_report,
    verdict,
)
from gantrymq.ha.election.election import COURTESY_SECONDS, judge
from gantrymq.ha.election.verdict import ReceivedReport, View
from gantrymq.ha.lease.lease import DURATION_SECONDS, Lease, OperatorRequests
from gantrymq.ha.protocol.handshake import MemberReport

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
