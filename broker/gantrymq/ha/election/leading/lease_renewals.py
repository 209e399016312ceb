"""Writes the Lease for a master, or for a member that may have won it.

A renewal may change the in-sync set. A write with another set is a proposal. Until its outcome is
known the master repeats it: either another version of the Lease is read, or a write succeeds.
"""

from __future__ import annotations

from typing import final

from gantrymq.ha.election.election_context import ElectionContext
from gantrymq.ha.election.in_sync_replicas import InSyncReplicas
from gantrymq.ha.election.leading.switchover import Switchover
from gantrymq.ha.election.lease_client_state import LeaseClientState
from gantrymq.ha.election.log_lines import LogLines, member_list
from gantrymq.ha.lease.lease import RENEW_SECONDS, Lease
from gantrymq.ha.lease.member_id import MemberId


@final
class LeaseRenewals:
    """The writes of one member; its leader elector owns them."""

    __slots__ = ("_lease_state", "_log", "_member_id", "_proposal", "_switchover")

    def __init__(
        self,
        member_id: MemberId,
        lease_state: LeaseClientState,
        switchover: Switchover,
        log: LogLines,
    ) -> None:
        self._lease_state = lease_state
        self._log = log
        self._member_id = member_id
        self._proposal: Lease | None = None
        """A write with another in-sync set whose outcome is unknown."""
        self._switchover = switchover

    # ------------------------------------------------------------------ writes

    def write(self, context: ElectionContext, in_sync: InSyncReplicas, now: float) -> None:
        """Renew the lease, with the current in-sync set, if that is due."""
        lease, stall = self._lease_state.lease, context.stall(now)
        if stall is not None:
            self._log.say(f"not renewing lease reason={stall}", is_warning=True)
        elif self._proposal is not None:
            self.renew(in_sync, now, self._proposal.in_sync)
        elif lease is not None and lease.untrusted_reason is not None:
            reason = lease.untrusted_reason
            self._log.say(f"overwriting untrusted lease reason={reason}", is_warning=True)
            self.renew(in_sync, now)
        elif (wanted := self._wanted(context, in_sync, now)) is not None:
            change = "shrinking" if in_sync.is_shrinking else "expanding"
            before = member_list(in_sync.persisted)
            self._log.say(f"{change} ISR from={before} to={member_list(wanted)}")
            in_sync.propose(wanted)
            self.renew(in_sync, now, wanted)
        elif now >= self._lease_state.tried_at + RENEW_SECONDS:
            self.renew(in_sync, now)

    def _wanted(
        self, context: ElectionContext, in_sync: InSyncReplicas, now: float
    ) -> frozenset[int] | None:
        """The set to propose. Before a member is removed, everything acknowledged is flushed
        here."""
        wanted = in_sync.wanted(now)
        in_sync.prepare(wanted)
        return None if in_sync.is_shrinking and not context.flush_acknowledged(now) else wanted

    def renew(
        self, in_sync: InSyncReplicas | None, now: float, proposed: frozenset[int] | None = None
    ) -> None:
        """Renew the lease, with another set if one is proposed. `in_sync` is None before this
        member has begun to lead."""
        lease = self._lease_state.lease
        assert lease is not None
        granted = self._switchover.granted(lease, now)
        members = lease.in_sync if proposed is None else proposed
        disks = lease.disks if in_sync is None else in_sync.disks(members)
        renewed = lease.renewed(self._member_id, members, granted, disks)
        if proposed is not None:
            self._proposal = renewed
        self._lease_state.write(renewed, now)

    # ------------------------------------------------------------------ outcomes

    def read(self, lease: Lease, in_sync: InSyncReplicas | None) -> None:
        """Process the Lease of this master's epoch that was read."""
        if self._proposal is None:
            self._compare_set(lease, in_sync)
        elif lease.version != self._proposal.version:
            self.settle(lease, in_sync)

    def _compare_set(self, lease: Lease, in_sync: InSyncReplicas | None) -> None:
        """Count the members that the lease names as in sync, if they differ from the known set.
        Another program may have written the lease, for example by restoring an earlier one: the
        members it names can be elected until the lease is corrected."""
        named = lease.in_sync | lease.claimed
        if in_sync is not None and named | {self._member_id.number} != in_sync.persisted:
            members = member_list(lease.claimed or named)
            text = f"another program changed the ISR in the lease to={members}"
            self._log.say(text, is_warning=True)
            self.settle(lease, in_sync)

    def settle(self, lease: Lease, in_sync: InSyncReplicas | None) -> None:
        """Record that the outcome of the last proposal is known."""
        self._proposal = None
        if in_sync is not None:
            in_sync.confirmed(lease.in_sync, lease.claimed)

    def end(self) -> None:
        """Forget the proposal, because this member is no longer master."""
        self._proposal = None
