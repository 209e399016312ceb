"""Decides whether a member that is not master seeks the lease now, and what it writes.

The decision combines the comparison of logs (election.py) with the member's promises. A member that
has promised not to seek the lease keeps the promise for DURATION_SECONDS, unless the master that
received it cannot continue anyway: it released its lease, or this member holds the lease again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple, final

from gantrymq.base.bounds import NEVER
from gantrymq.ha.election.election import groups_heard, judge
from gantrymq.ha.election.election_context import ElectionContext
from gantrymq.ha.election.lease_client_state import LeaseClientState
from gantrymq.ha.election.log_lines import LogLines
from gantrymq.ha.election.verdict import Verdict, View
from gantrymq.ha.lease.lease import DURATION_SECONDS, EPOCH_MAX, NO_MEMBER, Lease
from gantrymq.ha.lease.member_id import MemberId

_NO_EPOCH_LEFT: Final = (
    f"the Lease has reached the highest epoch, {EPOCH_MAX}, which only an edit can cause. Delete"
    " the Lease, move the stores of all members aside, and start the group again."
)


@final
class CandidateWrite(NamedTuple):
    """The Lease to write, and the epoch that this seeks; 0 if this member does not seek it."""

    lease: Lease
    epoch: int = 0


@final
class CandidatePolicy:
    """A member's promises, and its decisions on seeking the lease; owned by its leader elector."""

    __slots__ = ("_lease_state", "_log", "_member_id", "_promised_until", "again_at")

    def __init__(
        self,
        member_id: MemberId,
        lease_state: LeaseClientState,
        log: LogLines,
        now: float,
        *,
        is_new: bool,
    ) -> None:
        """`is_new`: this disk has never been used by a member, so there can be no earlier
        promises."""
        self._lease_state = lease_state
        self._log = log
        self._member_id = member_id
        self._promised_until = now if is_new else now + DURATION_SECONDS
        self.again_at = NEVER
        """When the decision may change without another event."""

    def promise(self, now: float) -> None:
        """Promise not to seek the lease for its duration."""
        self._promised_until = now + DURATION_SECONDS

    def next_write(self, context: ElectionContext, now: float) -> CandidateWrite | None:
        """What to write now: seek the lease, create it, or release it; None for nothing."""
        verdict, lease = self._judge(context, now), self._lease_state.lease
        if verdict is None:
            return None
        if verdict.epoch and not context.flush_acknowledged(now):
            self._log.say("flushing the log before seeking the lease")
        elif verdict.epoch > EPOCH_MAX:
            self._log.say(f"not seeking lease reason={_NO_EPOCH_LEFT}", is_warning=True)
        elif verdict.epoch:
            assert lease is not None
            return self._acquired(lease, verdict, context, now)
        elif verdict.is_missing:
            return CandidateWrite(_blank(lease, context))
        elif verdict.is_given_up and lease is not None:
            return CandidateWrite(lease.released(NO_MEMBER, NO_MEMBER))
        elif not context.follows_master():
            self._log.say(f"not seeking lease reason={verdict.reason}")
        return None

    def _acquired(
        self, lease: Lease, verdict: Verdict, context: ElectionContext, now: float
    ) -> CandidateWrite:
        """The Lease with this member as master, and with the in-sync members that are present. The
        other members return to the set once they have everything again."""
        text = f"seeking lease epoch={verdict.epoch} reason={verdict.reason}"
        self._log.say(text, is_warning=verdict.is_unclean)
        received_reports = context.received_reports()
        group = lease.group or context.member_report().group
        if not group:  # an empty disk and an unreadable Lease: other members may know the group
            group = next(iter(groups_heard(received_reports, now)), "") or context.new_id()
        disks = {
            each: received_reports[each].member_report.disk
            for each in verdict.in_sync & set(received_reports)
        }
        disks |= {each: lease.disks[each] for each in verdict.in_sync & set(lease.disks)}
        disks[self._member_id.number] = context.member_report().disk
        taken = lease.acquired(self._member_id, verdict.epoch, verdict.in_sync, disks)
        return CandidateWrite(replace(taken, group=group), verdict.epoch)

    def _judge(self, context: ElectionContext, now: float) -> Verdict | None:
        """The decision on seeking the lease; None if a promise forbids it."""
        lease_state = self._lease_state
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


def _blank(known: Lease | None, context: ElectionContext) -> Lease:
    """A Lease that only names the group. If the group has no UUID, it gets a new one."""
    blank = Lease(group=context.member_report().group or context.new_id())
    if known is None:
        return blank
    return replace(blank, operator_requests=known.operator_requests, fenced=known.fenced)
