"""Decides whether a member that is not master seeks the lease now.

The decision combines the comparison of logs (election.py) with the member's promises. A member that
has promised not to seek the lease keeps the promise for DURATION_SECONDS, unless the master that
received it cannot continue anyway: it released its lease, or this member holds the lease again.
"""

from __future__ import annotations

from typing import final

from gantrymq.base.bounds import NEVER
from gantrymq.ha.election.election import judge
from gantrymq.ha.election.election_context import ElectionContext
from gantrymq.ha.election.lease_client_state import LeaseClientState
from gantrymq.ha.election.verdict import Verdict, View
from gantrymq.ha.lease.lease import DURATION_SECONDS, NO_MEMBER, Lease
from gantrymq.ha.lease.member_id import MemberId


@final
class CandidatePolicy:
    """A member's promises, and its decisions on seeking the lease; owned by its leader elector."""

    __slots__ = ("_member_id", "_promised_until", "again_at")

    def __init__(self, member_id: MemberId, now: float, *, is_new: bool) -> None:
        """`is_new`: this disk has never been used by a member, so there can be no earlier
        promises."""
        self._member_id = member_id
        self._promised_until = now if is_new else now + DURATION_SECONDS
        self.again_at = NEVER
        """When the decision may change without another event."""

    def promise(self, now: float) -> None:
        """Promise not to seek the lease for its duration."""
        self._promised_until = now + DURATION_SECONDS

    def judge(
        self, lease_state: LeaseClientState, context: ElectionContext, now: float
    ) -> Verdict | None:
        """The decision on seeking the lease; None if a promise forbids it."""
        lease = lease_state.lease
        if lease and now < self._promised_until and self._may_another_lead(lease, context):
            self.again_at = self._promised_until
            return None
        view = View(
            self._member_id.number,
            self._member_id.configured,
            context.member_report(),
            lease,
            lease_state.changed_at,
            lease_state.touched_at,
            context.received_reports(),
            context.stall(now),
            context.trouble(now),
            context.foreign_reason(),
        )
        verdict = judge(view, now)
        self.again_at = verdict.again_at
        return verdict

    def _may_another_lead(self, lease: Lease, context: ElectionContext) -> bool:
        """Whether the master that received the promise may continue. A master that released its
        lease may not, unless the lease was set back to an earlier state or edited."""
        if lease.untrusted_reason is not None or lease.epoch < context.member_report().epoch:
            return True
        return lease.holder not in (NO_MEMBER, self._member_id.number)
