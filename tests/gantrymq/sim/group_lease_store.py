"""The lease store of a simulated group: one object that changes by compare-and-set, and the group's
one address; and what can go wrong with both.

    refused     every request fails at once
    hanging     none is answered; those that arrive are carried out or not, by chance
    slow        each takes seconds, and is carried out when nobody waits any more
    late        all are carried out at once, and who wrote hears of it late: others read it before
    read-only   writes are refused

Whoever asks waits `PATIENCE_SECONDS`, and is then told that nobody knows. A request may be carried
out and its answer be lost: an unknown outcome.

Invariant: what is written replaced the version it says; versions are never used again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from random import Random
from typing import Final, final

from gantrymq.ha.lease import (
    Conflict,
    Found,
    Lease,
    LeaseAnswer,
    Missing,
    Unanswered,
    Wishes,
    Written,
)
from gantrymq.sim.group_network import Network
from gantrymq.sim.group_world import Life, Place, World

NUMBER: Final = 100
"""Of its node in the network."""

PATIENCE_SECONDS: Final = 1.0

Told = Callable[[LeaseAnswer], None]


class Health(Enum):
    """Of the store."""

    WELL = "well"
    REFUSED = "refused"
    HANGING = "hanging"
    SLOW = "slow"
    LATE = "late"
    READ_ONLY = "read-only"


@final
class _Request:
    """One that waits for its answer."""

    __slots__ = ("is_answered", "is_read", "life", "place", "told")

    def __init__(self, place: Place, life: Life, told: Told, *, is_read: bool) -> None:
        self.is_read = is_read
        self.place = place
        self.life = life
        self.told = told
        self.is_answered = False

    def answer(self, answer: LeaseAnswer) -> None:
        if not self.is_answered:
            self.is_answered = True
            self.told(answer)


@final
class LeaseStore:
    """Of one group."""

    def __init__(self, world: World, network: Network, random: Random) -> None:
        self.health = Health.WELL
        self.lease: Lease | None = None
        self.endpoint = (0, "")
        """The epoch and the address that the group's one address leads to."""
        self.lost_answers = 0.0
        """Share of the answers that do not arrive."""
        self.on_change: Callable[[Lease | None], None] = _nothing
        self.ambushes: dict[int, float] = {}
        """Nodes that stand still, for so long, from when they have sent their next request."""
        self.late_seconds = (0.1, 1.5)
        """How long a late store's answers to writes take; nobody waits as long as the longest."""
        self.allowed_unclean = False
        """Whether an operator ever did."""
        self.renewed_at: dict[int, float] = {}
        """By each node's own clock, when it sent the last request that named it the holder."""
        self.truth_before: Lease | None = None
        """What the object said before its last change; None where that was not to be trusted."""
        self._epoch = 0
        self._is_tampered = False
        self._network = network
        self._past: list[Lease] = []
        self._random = random
        self._version = 0
        self._world = world

    # ------------------------------------------------------------------ requests

    def read(self, place: Place, life: Life, told: Told) -> None:
        def carry_out() -> LeaseAnswer:
            return Missing() if self.lease is None else Found(self.lease)

        self._ask(place, life, told, carry_out, is_read=True)

    def write(self, place: Place, life: Life, lease: Lease, told: Told) -> None:
        sent_at = place.monotonic
        self._ask(place, life, told, lambda: self._replace(place, lease, sent_at))

    def publish(
        self, place: Place, life: Life, epoch: int, address: str, told: Callable[[bool], None]
    ) -> None:
        """The group's address leads there; not where a later epoch has it."""

        def carry_out() -> LeaseAnswer:
            if epoch < self.endpoint[0]:
                return Conflict()
            if self.endpoint != (epoch, address):
                self._world.tell(f"the group's address leads to {address} of epoch {epoch}")
            self.endpoint = (epoch, address)
            return Written("")

        self._ask(place, life, lambda answer: told(isinstance(answer, Written)), carry_out)

    def _ask(
        self,
        place: Place,
        life: Life,
        told: Told,
        carry_out: Callable[[], LeaseAnswer],
        *,
        is_read: bool = False,
    ) -> None:
        request = _Request(place, life, told, is_read=is_read)
        place.after(PATIENCE_SECONDS, lambda: request.answer(Unanswered("no answer in time")), life)
        self._network.post(place.number, NUMBER, lambda: self._arrived(request, carry_out))
        if place.number in self.ambushes:
            place.pause(self.ambushes.pop(place.number))

    def _arrived(self, request: _Request, carry_out: Callable[[], LeaseAnswer]) -> None:
        random, health = self._random, self.health
        if health is Health.REFUSED:
            self._reply(request, Unanswered("503"))
        elif health is Health.READ_ONLY and not request.is_read:
            self._reply(request, Unanswered("403"))
        elif health is Health.SLOW:
            seconds = random.uniform(0.1, 3.0)
            self._world.after(seconds, lambda: self._reply(request, carry_out()))
        elif health is Health.LATE:
            known = carry_out()
            seconds = 0.0 if isinstance(known, Found) else random.uniform(*self.late_seconds)
            self._world.after(seconds, lambda: self._reply(request, known))
        elif health is Health.HANGING:
            if random.random() < 0.5:
                self._note_unknown(carry_out())
        else:
            answer = carry_out()
            if random.random() < self.lost_answers:
                self._note_unknown(answer)
            else:
                self._reply(request, answer)

    def _note_unknown(self, answer: LeaseAnswer) -> None:
        if isinstance(answer, Written):
            self._world.tally["unknown outcomes, written"] += 1

    def _reply(self, request: _Request, answer: LeaseAnswer) -> None:
        place = request.place

        def arrive() -> None:
            place.arrive(0.0, lambda: request.answer(answer), request.life)

        if (request.is_answered and isinstance(answer, Written)) or not self._network.post(
            NUMBER, place.number, arrive
        ):
            self._note_unknown(answer)

    # ------------------------------------------------------------------ the object

    @property
    def truth(self) -> Lease | None:
        """What it says; None where somebody removed it, or put an old one in its place."""
        return None if self._is_tampered else self.lease

    def _replace(self, place: Place, lease: Lease, sent_at: float) -> LeaseAnswer:
        current = "" if self.lease is None else self.lease.version
        if lease.version != current:
            self._world.tally["conflicts"] += 1
            return Conflict()
        if lease.holder == place.number:
            self.renewed_at[place.number] = sent_at
        return Written(self._put(lease, place.name).version)

    def _put(self, lease: Lease, who: str) -> Lease:
        self._version += 1
        before, now = self.lease, replace(lease, version=str(self._version))
        self.truth_before = self.truth
        self.lease = now
        if now.epoch > self._epoch:
            self._epoch, self._is_tampered = now.epoch, False
        self.allowed_unclean |= now.wishes.allows_unclean
        if before is None or replace(now, version="", renewals=0) != replace(
            before, version="", renewals=0
        ):
            self._world.tell(f"lease, by {who}: {shown(now)}")
            self._past.append(now)
        self.on_change(now)
        return now

    # ------------------------------------------------------------------ the operator

    def wish(self, change: Callable[[Wishes], Wishes]) -> None:
        """He changes his wishes, and nothing else."""
        if self.lease is not None:
            self._put(replace(self.lease, wishes=change(self.lease.wishes)), "the operator")

    def fence(self, fenced: frozenset[int]) -> None:
        if self.lease is not None:
            self._put(replace(self.lease, fenced=fenced), "the operator")

    def delete(self) -> None:
        """Somebody removes the object."""
        if self.lease is not None:
            self._world.tell("lease: deleted")
            self._is_tampered = True
            self.lease = None
            self.on_change(None)

    def restore(self, below: int) -> None:
        """Somebody brings back what was there some changes ago, of an epoch below this one."""
        old = [each for each in self._past[-12:] if each.epoch < below]
        if self.lease is not None and old:
            self._is_tampered = True
            self._put(self._random.choice(old), "who restores")


def shown(lease: Lease) -> str:
    """In one line."""
    fenced = f" fenced {sorted(lease.fenced)}" if lease.fenced else ""
    wishes = f" {lease.wishes}" if lease.wishes != Wishes() else ""
    return (
        f"version {lease.version} holder {lease.holder} epoch {lease.epoch}"
        f" in sync {sorted(lease.in_sync)}{fenced}{wishes}"
    )


def _nothing(lease: Lease | None) -> None:
    """Nobody looks."""
