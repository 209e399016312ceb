"""Computes until when a master may acknowledge after it renewed its lease.

A renewal extends the deadline to LEASE_DEADLINE_SECONDS after the moment at which the renewal was
*sent*. While the lease cannot be reached, promises extend it: if all members that could be elected
promise not to seek the lease, the deadline is LEASE_DEADLINE_SECONDS after the question was
sent.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.ha.election.in_sync_replicas import InSyncReplicas
from gantrymq.ha.lease.lease import LEASE_DEADLINE_SECONDS, RENEW_SECONDS, Lease
from gantrymq.ha.lease.member_id import MemberId

# If a renewal takes longer than this, the master asks the other members for promises.
ASK_AFTER_SECONDS: Final = RENEW_SECONDS + 0.4


@final
class LeaseTimer:
    """The last renewal of a master, from which its deadlines count; owned by its leader elector."""

    __slots__ = ("_member_id", "_renewed_at")

    def __init__(self, member_id: MemberId) -> None:
        self._member_id = member_id
        self._renewed_at = -NEVER

    def renew(self, sent_at: float) -> None:
        """Record a successful write of the lease that was sent at this time."""
        self._renewed_at = sent_at

    def end(self) -> None:
        """Record that this member does not hold the lease."""
        self._renewed_at = -NEVER

    @property
    def asks_at(self) -> float:
        """From when on the master asks for promises."""
        return self._renewed_at + ASK_AFTER_SECONDS

    def ends_at(self, promised_since: float | None) -> float:
        """Until when the master may acknowledge; `promised_since` is when the promises were asked
        for."""
        since = self._renewed_at
        return max(since, promised_since or since) + LEASE_DEADLINE_SECONDS

    def must_promise(self, lease: Lease, in_sync: InSyncReplicas) -> frozenset[int] | None:
        """The members whose promises let the master continue without the lease; None if no promises
        suffice."""
        me, configured = self._member_id.number, self._member_id.configured
        others = in_sync.electable - {me}
        is_alone = not (in_sync.persisted - {me})
        if lease.operator_requests.allows_unclean:
            return None if is_alone else (configured | others) - {me}
        return (configured | others) - {me} if is_alone else others
