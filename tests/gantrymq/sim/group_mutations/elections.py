"""Breaks the rules that say which member may be elected."""

from __future__ import annotations

from dataclasses import replace

from gantrymq.ha.election import election
from gantrymq.ha.election.election import judge
from gantrymq.ha.election.verdict import Verdict, View
from gantrymq.ha.lease.lease import NO_MEMBER, Lease
from gantrymq.ha.member.replica_state import ReplicaState
from gantrymq.ha.protocol.handshake import MemberReport
from gantrymq.sim.group_mutations.patch import PATCH


def member_that_lacks_something_is_electable() -> None:
    PATCH.setattr(ReplicaState, "is_electable", property(lambda self: True))


def not_all_of_the_set_have_to_be_heard() -> None:
    """A member that may have lost its log's end is elected if no other reports more."""
    judge_set = election._judge_set

    def hasty(view: View, lease: Lease, free_at: float, now: float) -> Verdict:
        if view.member_report.is_electable:
            return judge_set(view, lease, free_at, now)
        said = lease.in_sync & election.fresh(view.received_reports, now).keys()
        return judge_set(view, replace(lease, in_sync=said | {view.me}), free_at, now)

    PATCH.setattr(election, "_judge_set", hasty)


def promotes_outside_of_the_set() -> None:
    judge_set = election._judge_set

    def outside(view: View, lease: Lease, free_at: float, now: float) -> Verdict:
        return judge_set(view, replace(lease, in_sync=view.configured), free_at, now)

    PATCH.setattr(election, "_judge_outside", outside)


def the_longest_log_is_ignored() -> None:
    PATCH.setattr(election, "_better", lambda view, lease, others, *, by_log=False: NO_MEMBER)


def fenced_members_are_elected() -> None:
    def lax(view: View, now: float) -> Verdict:
        lease = view.lease
        return judge(view._replace(lease=lease and replace(lease, fenced=frozenset())), now)

    PATCH.setattr("gantrymq.ha.election.candidate_policy.judge", lax)


def a_second_disk_in_a_seat_is_a_sign_that_the_first_is_gone() -> None:
    def replaced(member: int, member_report: MemberReport, lease: Lease) -> bool:
        return not member_report.epochs or not lease.names(member, member_report.disk)

    PATCH.setattr(election, "_is_replaced", replaced)
