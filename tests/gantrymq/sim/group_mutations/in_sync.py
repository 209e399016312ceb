"""Breaks rules of the in-sync set."""

from __future__ import annotations

from dataclasses import replace

from gantrymq.ha.election.in_sync_replicas import InSyncReplicas
from gantrymq.ha.election.leader_elector import LeaderElector
from gantrymq.ha.lease.lease import Lease, LeaseAnswer, Unanswered
from gantrymq.ha.member.links.safe_position import SafePosition
from gantrymq.ha.member.member_context import MemberContext
from gantrymq.ha.protocol.member_frames import Report
from gantrymq.sim.group_mutations.patch import PATCH


def shrink_counts_before_it_is_persisted() -> None:
    def counted(self: InSyncReplicas) -> frozenset[int]:
        return self.persisted if self._proposed is None else self._proposed

    PATCH.setattr(InSyncReplicas, "counted", property(counted))


def grow_counts_when_it_is_persisted() -> None:
    PATCH.setattr(InSyncReplicas, "counted", property(lambda self: self.persisted))


def unknown_outcome_is_taken_for_a_failure() -> None:
    answered = LeaderElector.lease_answered

    def hasty(self: LeaderElector, number: int, answer: LeaseAnswer, now: float) -> None:
        answered(self, number, answer, now)
        renewals = self._renewals
        if isinstance(answer, Unanswered) and renewals._proposal is not None and self.lease:
            renewals.settle(self.lease, self.in_sync)

    PATCH.setattr(LeaderElector, "lease_answered", hasty)


def members_join_before_they_have_everything() -> None:
    heard = InSyncReplicas.reported

    def hasty(self: InSyncReplicas, member: int, report: Report, log_end: int, now: float) -> None:
        heard(self, member, report, 0, now)

    PATCH.setattr(InSyncReplicas, "reported", hasty)
    PATCH.setattr(
        InSyncReplicas, "_has_joined", lambda self, progress: progress.joins_at is not None
    )


def memory_counts_while_the_set_shrinks() -> None:
    """What is acknowledged until a member is out of the set need not be on the master's disk."""
    PATCH.setattr(InSyncReplicas, "prepare", lambda self, wanted: None)


def too_small_a_set_is_no_matter() -> None:
    PATCH.setattr(SafePosition, "_missing", lambda self: None)


def goes_before_our_disk_has_it(while_it_leads: bool) -> None:
    """What is acknowledged is on no disk when a set begins without a member that has it."""
    flush_acknowledged = MemberContext.flush_acknowledged

    def hasty(self: MemberContext, now: float) -> bool:
        is_master = self._incoming.held is not None
        return is_master is while_it_leads or flush_acknowledged(self, now)

    PATCH.setattr(MemberContext, "flush_acknowledged", hasty)


def member_that_leaves_is_out_at_once() -> None:
    released = Lease.released

    def hasty(self: Lease, successor: int, leaver: int) -> Lease:
        return replace(released(self, successor, leaver), in_sync=self.in_sync - {leaver})

    PATCH.setattr(Lease, "released", hasty)
