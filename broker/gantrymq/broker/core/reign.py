"""A broker's role where its group elects the master: it changes while everything else goes on.

    lead      the store takes messages; groups that were further than our queues go on at their
              ends; orderly locks stay with their owners for a while
    serve     what a master does by itself begins once consumers may see all that the log had
              when we came to lead: what was done before is known from the log alone
    pause     nothing new is begun, by clients or by ourselves, so that what there is can be
              handed over whole; or it is not, and we go on
    follow    nothing is put any more from this call on, by anybody; who was sending is cut off,
              and looks for the new master

Invariant: between `follow` and the next `lead` no work of the master's is under way.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final, final

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core import commits
from gantrymq.broker.core.messages import Channel, Register

if TYPE_CHECKING:
    from gantrymq.broker.core.state import State

# As long as the owner of an orderly lock goes on without hearing from us: Java's figure.
HEIR_SECONDS: Final = 30.0

# Between two looks whether everything can be seen: a follower's report comes any moment.
LOOK_SECONDS: Final = 0.02

NEVER: Final = float("inf")


@final
class Reign:
    """Of one broker."""

    __slots__ = (
        "_look_at",
        "_own_address",
        "_served",
        "_serves_from",
        "_state",
        "changes",
        "epoch",
        "is_paused",
    )

    def __init__(self, state: State) -> None:
        self._look_at = NEVER
        self._own_address = state.identity.address
        self._served = False
        self._serves_from = 0
        self._state = state
        self.epoch = 0
        """The one we lead in, or led in last."""
        self.is_paused = False
        self.changes: Counter[str] = Counter()
        """How often this broker became `master`, and how often it became `slave` again."""

    def lead(self, epoch: int) -> None:
        """We are the master from now on."""
        state = self._state
        assert state.identity.is_elected, "fixed roles do not change"
        self.epoch = epoch
        self.changes["master"] += 1
        state.store.lead(state.now)
        state.carried.settle()
        state.carried.lead()
        state.works.end_role()
        address = state.identity.group_address or self._own_address
        state.identity = replace(state.identity, broker_id=0, address=address)
        self.master_is("")
        self._serves_from = state.store.log.end
        self._look_at = state.now
        commits.clamp(state)
        state.pops.lead()
        self._keep_locks()
        state.effects.info(
            f"this broker, member {state.identity.member} of {state.identity.name}, is master"
            f" from now on, epoch {epoch}, its log ends at {state.store.log.end}"
        )
        state.effects.add(Register())

    def _keep_locks(self) -> None:
        """Whoever was master before gave queues away; before the first message nobody was."""
        state = self._state
        if state.store.log.is_empty:
            return
        try:
            state.locks.lead(state.now, HEIR_SECONDS)
        except (RemoteError, ValueError) as error:
            state.effects.warning(f"the last master's locks are not known: {error}")

    def pause(self, *, is_paused: bool) -> None:
        """Begin nothing new, or go on. What is under way ends by itself: cut off, it would be done
        once more by the next master."""
        state = self._state
        if is_paused and not self.is_paused:
            self._served = state.serves
            state.serves = False
        elif self.is_paused and not is_paused:
            state.serves = self._served
        self.is_paused = is_paused
        state.quick_sends.refresh()

    def follow(self) -> None:
        """We are not the master from now on."""
        state = self._state
        self.changes["slave"] += 1
        self.is_paused = False
        self._look_at = NEVER
        state.serves = False
        state.store.follow(state.wall_ms)
        state.works.end_role()
        member = state.identity.member
        state.identity = replace(state.identity, broker_id=member, address=self._own_address)
        self._begin_services_anew()
        state.pops.retire()
        state.stranded.follow()
        state.effects.info(
            f"this broker, member {state.identity.member} of {state.identity.name}, is not master"
            f" any more, epoch {self.epoch}, its log ends at {state.store.log.end}"
        )
        state.effects.add(Register())

    def master_is(self, address: str) -> None:
        """Where the master takes requests; "" where nobody is."""
        state = self._state
        master = "" if address == self._own_address else address
        if master != state.following.master:
            state.carried.forget_master()
        state.following.master = master
        state.relays.master_is(master)

    # ------------------------------------------------------------------ the machine

    def deadline(self) -> float:
        return self._look_at

    def expire(self, now: float) -> None:
        """Serve, if all that there was can be seen."""
        state = self._state
        if self.is_paused or state.store.readable < self._serves_from:
            self._look_at = now + LOOK_SECONDS
            return
        self._look_at = NEVER
        self._begin_services_anew()
        state.serves = True

    def closed(self, channel: Channel) -> None:
        """Nobody's connection matters here."""

    def _begin_services_anew(self) -> None:
        state = self._state
        for service in (state.delays, state.timers, state.transaction_check):
            service.begin_anew()
