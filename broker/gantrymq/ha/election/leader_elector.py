"""Runs the leader election of one member: watches, seeks, renews and releases the Lease.

phase.py has the states and the table of their transitions.

Time. A master counts from when it *sent* a renewal (lease_timer.py). A watching member counts from
when the answer that showed a change *arrived*. Each uses its own clock, so the master's deadline
ends before the lease expires for the other members, however long answers take.

Invariant. A write whose outcome is unknown may still be carried out as long as the version that it
replaces is the current one: until another version is seen, both outcomes are possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.ha.election.actions import Action, WriteLogLine
from gantrymq.ha.election.candidate_policy import CandidatePolicy
from gantrymq.ha.election.election import groups_heard
from gantrymq.ha.election.election_context import ElectionContext
from gantrymq.ha.election.in_sync_replicas import InSyncReplicas
from gantrymq.ha.election.lease_client_state import LeaseClientState, Outcome
from gantrymq.ha.election.lease_timer import ASK_AFTER_SECONDS, LeaseTimer
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
from gantrymq.ha.election.switchover import Switchover
from gantrymq.ha.election.verdict import Verdict
from gantrymq.ha.lease.lease import (
    EPOCH_MAX,
    NO_MEMBER,
    RENEW_SECONDS,
    Lease,
    LeaseAnswer,
    Unanswered,
)
from gantrymq.ha.lease.member_id import MemberId

# A hand-over that takes longer is given up, and the master continues.
HANDOVER_SECONDS: Final = 1.0

# The interval between two attempts of a master that cannot accept messages to hand over.
YIELD_SECONDS: Final = 5.0

# How long a leaving follower waits to be removed from the in-sync set.
LEAVE_SECONDS: Final = 1.0


@final
class LeaderElector:
    """The leader elector of one member. The member calls `decide` after every event and at
    `deadline`."""

    __slots__ = (
        "_candidate_policy",
        "_chosen",
        "_handing_by",
        "_last_text",
        "_lease_state",
        "_lease_timer",
        "_leaves_by",
        "_log_lines",
        "_member_id",
        "_proposal",
        "_sought",
        "_switchover",
        "_yields",
        "_yields_at",
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
        self._candidate_policy = CandidatePolicy(member_id, now, is_new=is_new)
        self._chosen = NO_MEMBER
        self._lease_state = LeaseClientState(now, last_lease)
        self._handing_by = NEVER
        self._leaves_by = NEVER
        self._member_id = member_id
        self._proposal: Lease | None = None
        """A write with another in-sync set whose outcome is unknown."""
        self._last_text = ""
        self._sought = 0
        self._switchover = Switchover(member_id.number)
        self._lease_timer = LeaseTimer(member_id)
        self._log_lines: list[WriteLogLine] = []
        self._yields = False
        """Whether this member hands over because its disk does not respond."""
        self._yields_at = -NEVER
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
        return self.epoch > 0 and not self._yields and now >= self._lease_timer.asks_at

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
        words, self._log_lines = self._log_lines, []
        return [*words, *self._lease_state.take_actions()]

    # ------------------------------------------------------------------ answers of the lease store

    def lease_answered(self, number: int, answer: LeaseAnswer, now: float) -> None:
        """Process the answer to a request."""
        if isinstance(answer, Unanswered):
            self._say(f"lease request failed cause={answer.text}", is_warning=True)
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
            self.step_down(_other_master(lease, self._member_id.number), now)
        elif self._proposal is None:
            self._compare_set(lease)
        elif lease.version != self._proposal.version:
            self._settle(lease)

    def _compare_set(self, lease: Lease) -> None:
        """Count the members that the lease names as in sync, if they differ from the known set.
        Another program may have written the lease, for example by restoring an earlier one: the
        members it names can be elected until the lease is corrected."""
        in_sync, named = self.in_sync, lease.in_sync | lease.claimed
        if in_sync is not None and named | {self._member_id.number} != in_sync.persisted:
            members = _list(lease.claimed or named)
            self._say(f"another program changed the ISR in the lease to={members}", is_warning=True)
            self._settle(lease)

    def _wrote(self, lease: Lease) -> None:
        """Act on a successful write."""
        if not lease.is_written_by(self._member_id):
            self._enter(LEAVE if self.is_leaving else FREE)
        elif self.phase is Phase.SEEKING and self._has_won(lease):
            self._enter(WIN)
            self.epoch = lease.epoch
            self._lease_timer.renew(self._lease_state.sent_at)
            self._say(f"became master epoch={lease.epoch} isr={_list(lease.in_sync)}")
        elif self.epoch:
            self._lease_timer.renew(self._lease_state.sent_at)
            self._settle(lease)

    def _has_won(self, lease: Lease | None) -> bool:
        """Whether this very process holds the lease: another process with this member's number may
        have sought the same epoch."""
        return (
            lease is not None
            and lease.is_written_by(self._member_id)
            and lease.epoch == self._sought
        )

    def _settle(self, lease: Lease) -> None:
        """Record that the outcome of the last proposal is known."""
        self._proposal = None
        if self.in_sync is not None:
            self.in_sync.confirmed(lease.in_sync, lease.claimed)

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
        goes_at = NEVER if in_sync is None else in_sync.deadline()
        member_late_at = NEVER if in_sync is None else in_sync.member_late_at()
        ends_at = self.lease_deadline(context, now)
        return (
            ends_at,
            self._lease_timer.asks_at,
            goes_at,
            member_late_at,
            self._handing_by,
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
            self._renew(now)
        else:
            self._judge(context, now)

    def _look_at(self, context: ElectionContext) -> float:
        """When to read the lease again."""
        is_quiet = context.follows_master() or self.phase is Phase.SEEKING
        return self._lease_state.look_at(is_urgent=not is_quiet)

    def _judge(self, context: ElectionContext, now: float) -> None:
        """Seek the lease if this member may become master."""
        verdict = self._candidate_policy.judge(self._lease_state, context, now)
        if verdict is None:
            return
        if verdict.epoch and not context.flush_acknowledged(now):
            self._say("flushing the log before seeking the lease")
        elif verdict.epoch:
            self._seek(verdict, context, now)
        elif verdict.is_missing:
            self._create(context, now)
        elif verdict.is_given_up and self.lease is not None:
            self._release(self.lease, NO_MEMBER, now, leaves=False)
        elif not context.follows_master():
            self._say(f"not seeking lease reason={verdict.reason}")

    def _create(self, context: ElectionContext, now: float) -> None:
        """Create a Lease that only names the group. If the group has no UUID, make one."""
        known = self.lease
        blank = Lease(group=context.member_report().group or context.new_id())
        if known is not None:
            blank = replace(blank, operator_requests=known.operator_requests, fenced=known.fenced)
        self._lease_state.write(blank, now)

    def _seek(self, verdict: Verdict, context: ElectionContext, now: float) -> None:
        """Write this member as master, with the in-sync members that are present. The other members
        return to the set once they have everything again."""
        if verdict.epoch > EPOCH_MAX:
            self._say(f"not seeking lease reason={_NO_EPOCH_LEFT}", is_warning=True)
            return
        self._enter(SEEK)
        self._sought = verdict.epoch
        text = f"seeking lease epoch={verdict.epoch} reason={verdict.reason}"
        self._say(text, is_warning=verdict.is_unclean)
        lease = self.lease
        assert lease is not None
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
        self._lease_state.write(replace(taken, group=group), now)

    # ------------------------------------------------------------------ leading

    def _lead(self, context: ElectionContext, now: float) -> None:
        lease_state, in_sync = self._lease_state, self.in_sync
        if in_sync is None:
            return
        if self.phase is Phase.LEADING and self.is_leaving:  # told to leave while seeking
            self._begin_handover(NO_MEMBER, now)
        elif self.phase is Phase.LEADING:
            self._consider_yielding(context, now)
        if self.phase is Phase.HANDING_OVER:
            self._hand_over(context, now)
        else:
            self._consider_switch(context, in_sync, now)
        if not self.epoch:
            return
        if in_sync.is_shrinking or in_sync.has_late_member(now):
            context.flush_acknowledged(now)  # sends wait for it
        if lease_state.is_busy:
            return
        if now >= lease_state.read_at:
            lease_state.read(now)
        elif not lease_state.is_stale:
            self._write_on(context, in_sync, now)

    def _write_on(self, context: ElectionContext, in_sync: InSyncReplicas, now: float) -> None:
        """Renew the lease, with the current in-sync set."""
        stall = context.stall(now)
        if stall is not None:
            self._say(f"not renewing lease reason={stall}", is_warning=True)
        elif self._proposal is not None:
            self._renew(now, self._proposal.in_sync)
        elif (
            self._lease_state.lease is not None
            and self._lease_state.lease.untrusted_reason is not None
        ):
            reason = self._lease_state.lease.untrusted_reason
            self._say(f"overwriting untrusted lease reason={reason}", is_warning=True)
            self._renew(now)
        elif (wanted := self._wanted(context, in_sync, now)) is not None:
            change = "shrinking" if in_sync.is_shrinking else "expanding"
            self._say(f"{change} ISR from={_list(in_sync.persisted)} to={_list(wanted)}")
            in_sync.propose(wanted)
            self._renew(now, wanted)
        elif now >= self._lease_state.tried_at + RENEW_SECONDS:
            self._renew(now)

    def _wanted(
        self, context: ElectionContext, in_sync: InSyncReplicas, now: float
    ) -> frozenset[int] | None:
        """The set to propose. Before a member is removed, everything acknowledged is flushed
        here."""
        wanted = in_sync.wanted(now)
        in_sync.prepare(wanted)
        return None if in_sync.is_shrinking and not context.flush_acknowledged(now) else wanted

    def _renew(self, now: float, in_sync: frozenset[int] | None = None) -> None:
        """Renew the lease, with another set if one is given."""
        lease = self.lease
        assert lease is not None
        granted = self._switchover.granted(lease, now)
        members = lease.in_sync if in_sync is None else in_sync
        disks = lease.disks if self.in_sync is None else self.in_sync.disks(members)
        renewed = lease.renewed(self._member_id, members, granted, disks)
        if in_sync is not None:
            self._proposal = renewed
        self._lease_state.write(renewed, now)

    def saw(self, epoch: int, now: float) -> None:
        """Step down, because another member has seen a higher epoch. If it is the epoch that this
        member is seeking, do not: the other member may have read this member's write of the lease
        before the answer to the write arrived here."""
        if not (self.phase is Phase.SEEKING and epoch == self._sought):
            self.step_down(f"another member has seen epoch {epoch}", now)

    def step_down(self, reason: str, now: float) -> None:
        """Stop being master at once."""
        if self.epoch:
            self._say(f"stepped down epoch={self.epoch} reason={reason}", is_warning=True)
        self._enter(STEP_DOWN)
        self.epoch = 0
        self._proposal = None
        self._lease_timer.end()
        self._handing_by = NEVER
        self._switchover.end()
        self._chosen = NO_MEMBER
        self._yields, self._yields_at = False, -NEVER
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
        self._chosen = chosen
        self._handing_by = now + HANDOVER_SECONDS
        self._say(f"handing over to={chosen or 'any in-sync member'}")

    def _can_be_taken(self, context: ElectionContext, now: float) -> bool:
        """Whether the Lease can presumably be written, so that a successor can acquire it: the last
        write succeeded a moment ago. A member with a stalled disk does not renew; for it the last
        request decides."""
        lease_state, stalls = self._lease_state, context.stall(now) is not None
        return (
            not lease_state.is_stale if stalls else now < lease_state.written_at + ASK_AFTER_SECONDS
        )

    def _consider_yielding(self, context: ElectionContext, now: float) -> None:
        """Hand over to a member that can accept messages, if this one cannot. If no member can,
        stay master even with a full disk: without a master consumers could not read."""
        trouble = context.trouble(now)
        if trouble is None or not context.has_able_successor():
            self._yields = False
        elif now >= self._yields_at and self._can_be_taken(context, now):
            self._yields = context.stall(now) is not None
            self._yields_at = now + YIELD_SECONDS
            self._say(f"looking for another master reason={trouble}", is_warning=True)
            self._begin_handover(NO_MEMBER, now)

    def _consider_switch(
        self, context: ElectionContext, in_sync: InSyncReplicas, now: float
    ) -> None:
        """Carry out an operator's switchover request."""
        lease = self.lease
        successor = (
            None if lease is None else self._switchover.successor(lease, in_sync.persisted, now)
        )
        if successor is not None and self._can_be_taken(context, now):
            self._begin_handover(successor, now)

    def _hand_over(self, context: ElectionContext, now: float) -> None:
        """Release the Lease once a successor has everything, or at the time limit."""
        lease_state, lease, successor = (
            self._lease_state,
            self.lease,
            context.successor(self._chosen, now),
        )
        is_over, is_stale = now >= self._handing_by, lease_state.is_stale
        if lease_state.is_busy and not is_stale:
            return  # its answer shows whether the lease can be written
        can_be_taken = not is_stale and (self.is_leaving or self._can_be_taken(context, now))
        if is_over and not self.is_leaving and not (can_be_taken and successor):
            reason = "no member has everything" if can_be_taken else "the lease cannot be written"
            self._give_up_handover(reason, now)
            return
        if lease is None or not can_be_taken or not (successor or is_over):
            return
        leaves = self.is_leaving or context.trouble(now) is not None
        name = f"member {successor}" if successor else "no member"
        self.step_down(f"handed over to {name}", now)
        self._release(lease, successor, now, leaves=leaves)

    def _give_up_handover(self, reason: str, now: float) -> None:
        self._enter(GIVE_UP)
        self._handing_by = NEVER
        if self._chosen != NO_MEMBER:
            self._switchover.give_up(now)
        self._say(f"gave up switchover reason={reason}", is_warning=True)

    def _leave(self, context: ElectionContext, now: float) -> None:
        """Remove this member from the Lease. If it follows a master, the master closes the
        connection once no acknowledgement waits for this member."""
        lease, me, disk = self.lease, self._member_id.number, context.member_report().disk
        is_successor = lease is not None and lease.successor == me and lease.holder == NO_MEMBER
        if lease and (lease.is_held_by(me, disk) or (is_successor and lease.names(me, disk))):
            self._release(lease, NO_MEMBER, now, leaves=True)
        elif context.follows_master() and now < self._leaves_by:
            self._candidate_policy.again_at = self._leaves_by
        else:
            self._enter(LEAVE)

    def _release(self, lease: Lease, successor: int, now: float, *, leaves: bool) -> None:
        """Write the Lease without a holder. This member is no longer master, whatever the outcome.
        The successor does not wait for a member that leaves or cannot follow."""
        leaver = self._member_id.number if leaves and successor else NO_MEMBER
        self._lease_state.write(lease.released(successor, leaver), now)

    def _enter(self, event: str) -> None:
        """Change the phase as the table says."""
        self.phase = PHASES.next(self.phase, event)

    def _say(self, text: str, *, is_warning: bool = False) -> None:
        """Log a line, unless it repeats the previous one."""
        if text != self._last_text:
            self._last_text = text
            self._log_lines.append(WriteLogLine(text, is_warning=is_warning))


_NO_EPOCH_LEFT: Final = (
    f"the Lease has reached the highest epoch, {EPOCH_MAX}, which only an edit can cause. Delete"
    " the Lease, move the stores of all members aside, and start the group again."
)


def _list(members: AbstractSet[int]) -> str:
    """Member numbers as log lines show them: [1,2,3]."""
    return f"[{','.join(map(str, sorted(members)))}]"


def _other_master(lease: Lease | None, me: int) -> str:
    """Describes the current master, which is another process."""
    if lease is None:
        return "the lease was deleted"
    if lease.holder == me:
        return f"another process of member {me} is master in epoch {lease.epoch}"
    holder = f"member {lease.holder}" if lease.holder else "no member"
    return f"{holder} is master in epoch {lease.epoch}"
