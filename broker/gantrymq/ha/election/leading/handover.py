"""Decides when a master hands the Lease over, and when it gives the hand-over up.

The member chooses the successor (successor_choice.py) unless an operator has.

A master hands over if its process ends, if it cannot accept messages and another member can, or if
an operator requests it (switchover.py). It first stops accepting requests, so that a successor can
receive the rest of the log. A hand-over that takes longer than HANDOVER_SECONDS is given up, unless
the process ends.
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

from gantrymq.base.bounds import NEVER
from gantrymq.ha.election.election_context import ElectionContext
from gantrymq.ha.election.in_sync_replicas import InSyncReplicas
from gantrymq.ha.election.leading.lease_timer import ASK_AFTER_SECONDS
from gantrymq.ha.election.leading.switchover import Switchover
from gantrymq.ha.election.lease_client_state import LeaseClientState
from gantrymq.ha.election.log_lines import LogLines
from gantrymq.ha.lease.lease import NO_MEMBER

# A hand-over that takes longer is given up, and the master continues.
HANDOVER_SECONDS: Final = 1.0

# The interval between two attempts of a master that cannot accept messages to hand over.
YIELD_SECONDS: Final = 5.0


@final
class HandoverOutcome(NamedTuple):
    """The end of a hand-over: it is given up, or the master releases the Lease to the successor."""

    successor: int = NO_MEMBER
    is_given_up: bool = False


@final
class Handover:
    """The hand-over of one master; its leader elector owns it and has the phase."""

    __slots__ = (
        "_chosen",
        "_lease_state",
        "_log",
        "_switchover",
        "_yields_at",
        "by",
        "is_disk_stalled",
    )

    def __init__(
        self, lease_state: LeaseClientState, switchover: Switchover, log: LogLines
    ) -> None:
        self._chosen = NO_MEMBER
        """The only member that may be the successor; NO_MEMBER for any."""
        self._lease_state = lease_state
        self._log = log
        self._switchover = switchover
        self._yields_at = -NEVER
        """When this member may try again to hand over because it cannot accept messages."""
        self.by = NEVER
        """When the current hand-over is given up. A process that ends releases the Lease then."""
        self.is_disk_stalled = False
        """Whether this member hands over because its disk does not respond."""

    # ------------------------------------------------------------------ the reasons to hand over

    def is_needed(self, context: ElectionContext, now: float) -> bool:
        """Whether to hand over to a member that can accept messages, because this one cannot. If no
        member can, stay master even with a full disk: without a master consumers could not read."""
        trouble = context.trouble(now)
        if trouble is None or not context.has_able_successor():
            self.is_disk_stalled = False
            return False
        if now < self._yields_at or not self._can_be_taken(context, now):
            return False
        self.is_disk_stalled = context.stall(now) is not None
        self._yields_at = now + YIELD_SECONDS
        self._log.say(f"looking for another master reason={trouble}", is_warning=True)
        return True

    def requested(
        self, context: ElectionContext, in_sync: InSyncReplicas, now: float
    ) -> int | None:
        """The successor that an operator requests, NO_MEMBER for any; None for no hand-over."""
        lease = self._lease_state.lease
        if lease is None:
            return None
        successor = self._switchover.successor(lease, in_sync.persisted, now)
        if successor is None or not self._can_be_taken(context, now):
            return None
        return successor

    def _can_be_taken(self, context: ElectionContext, now: float) -> bool:
        """Whether the Lease can presumably be written, so that a successor can acquire it: the last
        write succeeded a moment ago. A member with a stalled disk does not renew; for it the last
        request decides."""
        lease_state, stalls = self._lease_state, context.stall(now) is not None
        return (
            not lease_state.is_stale if stalls else now < lease_state.written_at + ASK_AFTER_SECONDS
        )

    # ------------------------------------------------------------------ one hand-over

    def begin(self, chosen: int, now: float) -> None:
        """Begin a hand-over to the chosen member, or to any one for NO_MEMBER."""
        self._chosen = chosen
        self.by = now + HANDOVER_SECONDS
        self._log.say(f"handing over to={chosen or 'any in-sync member'}")

    def outcome(
        self, context: ElectionContext, now: float, *, is_leaving: bool
    ) -> HandoverOutcome | None:
        """Decide how the hand-over ends: the caller releases the Lease, or gives up at the time
        limit. None while it goes on."""
        lease_state, successor = self._lease_state, context.successor(self._chosen, now)
        is_over, is_stale = now >= self.by, lease_state.is_stale
        if lease_state.is_busy and not is_stale:
            return None  # its answer shows whether the lease can be written
        can_be_taken = not is_stale and (is_leaving or self._can_be_taken(context, now))
        if is_over and not is_leaving and not (can_be_taken and successor):
            reason = "no member has everything" if can_be_taken else "the lease cannot be written"
            self._give_up(reason, now)
            return HandoverOutcome(is_given_up=True)
        if lease_state.lease is None or not can_be_taken or not (successor or is_over):
            return None
        return HandoverOutcome(successor)

    def _give_up(self, reason: str, now: float) -> None:
        self.by = NEVER
        if self._chosen != NO_MEMBER:
            self._switchover.give_up(now)
        self._log.say(f"gave up switchover reason={reason}", is_warning=True)

    def end(self) -> None:
        """Forget the hand-over, because this member is no longer master."""
        self._chosen = NO_MEMBER
        self._switchover.end()
        self._yields_at = -NEVER
        self.by = NEVER
        self.is_disk_stalled = False
