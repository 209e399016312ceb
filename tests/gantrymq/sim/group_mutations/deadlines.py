"""Breaks rules of the lease's time and of promises."""

from __future__ import annotations

from gantrymq.ha.election import election
from gantrymq.ha.election.leader_elector import LeaderElector
from gantrymq.ha.election.leading import lease_timer
from gantrymq.ha.election.lease_client_state import LeaseClientState
from gantrymq.ha.election.verdict import View
from gantrymq.ha.lease.lease import DURATION_SECONDS, NO_MEMBER, Lease, LeaseAnswer
from gantrymq.ha.member.member_context import MemberContext
from gantrymq.sim.group_mutations.patch import PATCH
from gantrymq.sim.nodes.group_process import BrokerProcess


def lease_is_timed_from_the_reply() -> None:
    answered = LeaseClientState.answered

    def late(
        self: LeaseClientState, number: int, answer: LeaseAnswer, now: float, *, leads: bool
    ) -> object:
        if self._asked is not None:
            self._asked.sent_at = now
        return answered(self, number, answer, now, leads=leads)

    PATCH.setattr(LeaseClientState, "answered", late)


def observers_go_by_the_holders_clock() -> None:
    """Whose time is that of the renewal, and two seconds behind theirs."""

    def free_at(view: View, lease: Lease) -> float:
        is_ours = lease.holder in (NO_MEMBER, view.me)
        return view.changed_at + (0.0 if is_ours else DURATION_SECONDS - 2.0)

    PATCH.setattr(election, "_free_at", free_at)


def answers_leave_without_authority() -> None:
    PATCH.setattr(BrokerProcess, "is_cut_off", lambda self: False)


def alone_without_promises() -> None:
    """A member that is alone can only be replaced where losses are allowed; no trouble lasts as
    long as the wait for that."""
    PATCH.setattr(election, "UNCLEAN_SECONDS", 2.0)

    def must_promise(self: LeaderElector) -> frozenset[int] | None:
        in_sync = self.in_sync
        return None if in_sync is None else in_sync.counted - {self._member_id.number}

    lease_deadline = LeaderElector.lease_deadline

    def alone(self: LeaderElector, context: object, now: float) -> float:
        is_alone = self.epoch and self.must_promise() == frozenset()
        return now + 1.0 if is_alone else lease_deadline(self, context, now)  # type: ignore[arg-type]

    PATCH.setattr(LeaderElector, "must_promise", must_promise)
    PATCH.setattr(LeaderElector, "lease_deadline", alone)


def promises_do_not_bind() -> None:
    def promise(self: LeaderElector, epoch: int, now: float) -> bool:
        return True

    PATCH.setattr(LeaderElector, "promise", promise)


def no_member_is_asked_for_promises() -> None:
    PATCH.setattr(LeaderElector, "asks_promises", lambda self, now: False)


def authority_lasts_as_long_as_the_lease() -> None:
    PATCH.setattr(lease_timer, "LEASE_DEADLINE_SECONDS", DURATION_SECONDS - 0.1)


def masters_renew_while_a_sync_is_stuck() -> None:
    """Nor do they leave it to another member."""
    PATCH.setattr(MemberContext, "stall", lambda self, now: None)
    PATCH.setattr(MemberContext, "trouble", lambda self, now: None)
