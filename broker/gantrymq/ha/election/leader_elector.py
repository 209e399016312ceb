"""Runs the leader election of one member: watches, seeks, renews and releases the Lease.

phase.py has the states and the table of their transitions.

Time. A master counts from when it *sent* a renewal (leading/lease_timer.py). A watching member
counts from when the answer that showed a change *arrived*. Each uses its own clock, so the master's
deadline ends before the lease expires for the other members, however long answers take.

Invariant. A write whose outcome is unknown may still be carried out as long as the version that it
replaces is the current one: until another version is seen, both outcomes are possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.ha.election.actions import Action
from gantrymq.ha.election.candidate_policy import CandidatePolicy
from gantrymq.ha.election.election_context import ElectionContext
from gantrymq.ha.election.in_sync_replicas import InSyncReplicas
from gantrymq.ha.election.leading.handover import Handover
from gantrymq.ha.election.leading.lease_renewals import LeaseRenewals
from gantrymq.ha.election.leading.lease_timer import LeaseTimer
from gantrymq.ha.election.leading.switchover import Switchover
from gantrymq.ha.election.lease_client_state import LeaseClientState, Outcome
from gantrymq.ha.election.log_lines import LogLines, member_list, other_master
from gantrymq.ha.election.phase import (
    FREE,
    GIVE_UP,
    HAND_OVER,
    LEAVE,
    LOSE,
    PHASES,
    SEEK,
    STEP_DOWN,
    WIN,
    Phase,
)
from gantrymq.ha.lease.lease import NO_MEMBER, RENEW_SECONDS, Lease, LeaseAnswer, Unanswered
from gantrymq.ha.lease.member_id import MemberId

# How long a leaving follower waits to be removed from the in-sync set.
LEAVE_SECONDS: Final = 1.0


@final
class LeaderElector:
    """The leader elector of one member. The member calls `decide` after every event and at
    `deadline`."""

    __slots__ = (
        "_candidate_policy",
        "_handover",
        "_lease_state",
        "_lease_timer",
        "_leaves_by",
        "_log",
        "_member_id",
        "_renewals",
        "_sought",
        "_switchover",
        "epoch",
        "in_sync",
        "is_leaving",
        "phase",
    )

    def __init__(
        self, member_id: MemberId, now: float, *, is_new: bool, last_lease: Lease | None = None
    ) -> None:
        """`is_new`: this disk has never been used by a member, so it has made no promise.
        `last_lease`: the last Lease that an earlier process on this disk has seen."""
        self._lease_state = lease_state = LeaseClientState(now, last_lease)
        self._lease_timer = LeaseTimer(member_id)
        self._leaves_by = NEVER
        self._log = log = LogLines()
        self._member_id = member_id
        self._sought = 0
        self._switchover = switchover = Switchover(member_id.number)
        self._candidate_policy = CandidatePolicy(member_id, lease_state, log, now, is_new=is_new)
        self._handover = Handover(lease_state, switchover, log)
        self._renewals = LeaseRenewals(member_id, lease_state, switchover, log)
        self.epoch = 0
        """The epoch of which this member is master; 0 while it is not."""
        self.in_sync: InSyncReplicas | None = None
        """The in-sync set of the epoch that this member leads; the member sets and clears it."""
        self.is_leaving = False
        """Whether this process ends soon: it follows no other master, and reports to its master
        that it leaves."""
        self.phase = Phase.WATCHING

    # ------------------------------------------------------------------ state

    @property
    def lease(self) -> Lease | None:
        """The Lease as it was last read or written."""
        return self._lease_state.lease

    @property
    def lease_epoch(self) -> int:
        return self.lease.epoch if self.lease else 0

    @property
    def master(self) -> int:
        """The holder of the Lease; NO_MEMBER if there is none, or if it is this member."""
        lease = self.lease
        if lease is None or lease.holder == self._member_id.number:
            return NO_MEMBER
        return lease.holder

    def trusts_master(self, now: float) -> bool:
        """Whether the lease of the current master has not expired by this member's clock."""
        return now < self._lease_state.expires_at

    def lease_deadline(self, context: ElectionContext, now: float) -> float:
        """Until when this member may acknowledge."""
        if not self.epoch:
            return -NEVER
        promised_since = context.promised_since() if self.asks_promises(now) else None
        return self._lease_timer.ends_at(promised_since)

    def must_promise(self) -> frozenset[int] | None:
        """The members whose promises let this master continue without the lease; None if no
        promises suffice."""
        in_sync, lease = self.in_sync, self.lease
        if in_sync is None or lease is None:
            return None
        return self._lease_timer.must_promise(lease, in_sync)

    def asks_promises(self, now: float) -> bool:
        """Whether a renewal of the lease is overdue, so that promises are needed."""
        is_overdue = now >= self._lease_timer.asks_at
        return self.epoch > 0 and is_overdue and not self._handover.is_disk_stalled

    def promise(self, epoch: int, now: float) -> bool:
        """Promise not to seek the lease for its duration; False if this member cannot promise
        that."""
        if self.phase is not Phase.WATCHING or self.lease_epoch > epoch:
            return False
        self._candidate_policy.promise(now)
        return True

    def look(self, now: float) -> None:
        """Read the lease soon, because it may have changed."""
        self._lease_state.look(now)

    def take_actions(self) -> Sequence[Action]:
        return [*self._log.take(), *self._lease_state.take_actions()]

    # ------------------------------------------------------------------ answers of the lease store

    def lease_answered(self, number: int, answer: LeaseAnswer, now: float) -> None:
        """Process the answer to a request."""
        if isinstance(answer, Unanswered):
            self._log.say(f"lease request failed cause={answer.text}", is_warning=True)
        outcome = self._lease_state.answered(number, answer, now, leads=self.epoch > 0)
        lease = self._lease_state.lease
        if outcome is Outcome.WRITTEN and lease is not None:
            self._wrote(lease)
        elif outcome is Outcome.READ:
            self._see(lease, now)

    def _see(self, lease: Lease | None, now: float) -> None:
        """Act on the lease that was read."""
        if self.phase is Phase.SEEKING and not self._has_won(lease):
            # Another holder, unless this member's write is still under way: then its next write
            # detects that.
            self._enter(LOSE)
        if not self.epoch:
            return
        if lease is None or not lease.is_written_by(self._member_id) or lease.epoch != self.epoch:
            self.step_down(other_master(lease, self._member_id.number), now)
        else:
            self._renewals.read(lease, self.in_sync)

    def _wrote(self, lease: Lease) -> None:
        """Act on a successful write."""
        if not lease.is_written_by(self._member_id):
            self._enter(LEAVE if self.is_leaving else FREE)
        elif self.phase is Phase.SEEKING and self._has_won(lease):
            self._enter(WIN)
            self.epoch = lease.epoch
            self._lease_timer.renew(self._lease_state.sent_at)
            self._log.say(f"became master epoch={lease.epoch} isr={member_list(lease.in_sync)}")
        elif self.epoch:
            self._lease_timer.renew(self._lease_state.sent_at)
            self._renewals.settle(lease, self.in_sync)

    def _has_won(self, lease: Lease | None) -> bool:
        """Whether this very process holds the lease: another process with this member's number may
        have sought the same epoch."""
        return (
            lease is not None
            and lease.is_written_by(self._member_id)
            and lease.epoch == self._sought
        )

    # ------------------------------------------------------------------ decisions

    def decide(self, context: ElectionContext, now: float) -> None:
        """Do everything that is due."""
        if self.epoch and now >= self.lease_deadline(context, now):
            self.step_down("the lease was not renewed in time", now)
        if self.epoch:
            self._lead(context, now)
        elif self.phase is not Phase.RELEASED:
            self._watch(context, now)
        elif now >= self._successor_at() and not self._lease_state.is_busy:
            self._lease_state.read(now)

    def _successor_at(self) -> float:
        """When to read the Lease for a new master. A process that ends redirects its clients to
        the new master."""
        return NEVER if self.has_successor else self._lease_state.look_at(is_urgent=True)

    def deadline(self, context: ElectionContext, now: float) -> float:
        """When `decide` has something to do, if no event occurs before."""
        due = NEVER
        for each in self._times(context, now):
            if now < each < due:
                due = each
        return due

    def _times(self, context: ElectionContext, now: float) -> Sequence[float]:
        """The times at which something is due. Work that was due and could not be done waits for
        the answer to the current request."""
        lease_state = self._lease_state
        requests = (
            ()
            if lease_state.is_busy
            else (lease_state.read_at, lease_state.tried_at + RENEW_SECONDS)
        )
        if self.phase is Phase.RELEASED:
            return () if lease_state.is_busy else (self._successor_at(),)
        if not self.epoch:
            return (
                ()
                if lease_state.is_busy
                else (self._look_at(context), self._candidate_policy.again_at)
            )
        in_sync = self.in_sync
        removal_at = NEVER if in_sync is None else in_sync.deadline()
        member_late_at = NEVER if in_sync is None else in_sync.member_late_at()
        ends_at = self.lease_deadline(context, now)
        return (
            ends_at,
            self._lease_timer.asks_at,
            removal_at,
            member_late_at,
            self._handover.by,
            self._switchover.by,
            *requests,
        )

    # ------------------------------------------------------------------ watching

    def _watch(self, context: ElectionContext, now: float) -> None:
        lease_state = self._lease_state
        if lease_state.is_busy:
            return
        self._candidate_policy.again_at = NEVER
        if now >= self._look_at(context):
            lease_state.read(now)
        elif lease_state.is_stale:
            return
        elif self.is_leaving:
            self._leave(context, now)
        elif self.phase is Phase.SEEKING:
            self._renewals.renew(self.in_sync, now)
        else:
            self._seek(context, now)

    def _look_at(self, context: ElectionContext) -> float:
        """When to read the lease again."""
        is_quiet = context.follows_master() or self.phase is Phase.SEEKING
        return self._lease_state.look_at(is_urgent=not is_quiet)

    def _seek(self, context: ElectionContext, now: float) -> None:
        """Seek the lease if this member may become master."""
        write = self._candidate_policy.next_write(context, now)
        if write is None:
            return
        if write.epoch:
            self._enter(SEEK)
            self._sought = write.epoch
        self._lease_state.write(write.lease, now)

    # ------------------------------------------------------------------ leading

    def _lead(self, context: ElectionContext, now: float) -> None:
        lease_state, in_sync = self._lease_state, self.in_sync
        if in_sync is None:
            return
        # A process that was told to end while it sought the lease hands over now.
        is_leading = self.phase is Phase.LEADING
        if is_leading and (self.is_leaving or self._handover.is_needed(context, now)):
            self._begin_handover(NO_MEMBER, now)
        if self.phase is Phase.HANDING_OVER:
            self._hand_over(context, now)
        elif (requested := self._handover.requested(context, in_sync, now)) is not None:
            self._begin_handover(requested, now)
        if not self.epoch:
            return
        if in_sync.is_shrinking or in_sync.has_late_member(now):
            context.flush_acknowledged(now)  # sends wait for it
        if lease_state.is_busy:
            return
        if now >= lease_state.read_at:
            lease_state.read(now)
        elif not lease_state.is_stale:
            self._renewals.write(context, in_sync, now)

    def saw(self, epoch: int, now: float) -> None:
        """Step down, because another member has seen a higher epoch. If it is the epoch that this
        member is seeking, do not: the other member may have read this member's write of the lease
        before the answer to the write arrived here."""
        if not (self.phase is Phase.SEEKING and epoch == self._sought):
            self.step_down(f"another member has seen epoch {epoch}", now)

    def step_down(self, reason: str, now: float) -> None:
        """Stop being master at once."""
        if self.epoch:
            self._log.say(f"stepped down epoch={self.epoch} reason={reason}", is_warning=True)
        self._enter(STEP_DOWN)
        self.epoch = 0
        self._renewals.end()
        self._lease_timer.end()
        self._handover.end()
        self.look(now)

    # ------------------------------------------------------------------ releasing the lease

    def leave(self, now: float) -> None:
        """Prepare the end of this process: a master hands over, and a follower asks to be removed
        from the in-sync set."""
        if not self.is_leaving:
            self._leaves_by = now + LEAVE_SECONDS
        self.is_leaving = True
        if self.phase is Phase.LEADING:
            self._begin_handover(NO_MEMBER, now)
        self.look(now)

    @property
    def has_successor(self) -> bool:
        """Whether the member to which this one handed over is master. True if there was no such
        member."""
        lease = self.lease
        return lease is None or lease.successor == NO_MEMBER or lease.holder != NO_MEMBER

    def _begin_handover(self, chosen: int, now: float) -> None:
        self._enter(HAND_OVER)
        self._handover.begin(chosen, now)

    def _hand_over(self, context: ElectionContext, now: float) -> None:
        """Continue a hand-over: give it up, or release the Lease to the successor."""
        lease = self.lease
        outcome = self._handover.outcome(context, now, is_leaving=self.is_leaving)
        if outcome is None:
            return
        if outcome.is_given_up:
            self._enter(GIVE_UP)
            return
        assert lease is not None
        # The successor does not wait for a member that leaves or cannot follow.
        leaves, successor = self.is_leaving or context.trouble(now) is not None, outcome.successor
        leaver = self._member_id.number if leaves and successor else NO_MEMBER
        name = f"member {successor}" if successor else "no member"
        self.step_down(f"handed over to {name}", now)
        self._lease_state.write(lease.released(successor, leaver), now)

    def _leave(self, context: ElectionContext, now: float) -> None:
        """Remove this member from the Lease. If it follows a master, the master closes the
        connection once no acknowledgement waits for this member."""
        lease, me, disk = self.lease, self._member_id.number, context.member_report().disk
        is_successor = lease is not None and lease.successor == me and lease.holder == NO_MEMBER
        if lease and (lease.is_held_by(me, disk) or (is_successor and lease.names(me, disk))):
            self._lease_state.write(lease.released(NO_MEMBER, NO_MEMBER), now)
        elif context.follows_master() and now < self._leaves_by:
            self._candidate_policy.again_at = self._leaves_by
        else:
            self._enter(LEAVE)

    def _enter(self, event: str) -> None:
        """Change the phase as the table says."""
        self.phase = PHASES.next(self.phase, event)
