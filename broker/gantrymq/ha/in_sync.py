"""Who has to have a message before it is acknowledged: the members that may become master.

    persisted    the set that the lease says; only its members can be elected
    proposed     the set that was asked for, from just before the request leaves until its outcome
                 is known; where nobody knows, both sets may be the persisted one
    joining      who keeps up and is to come: proposed as soon as it has what was acknowledged
                 before it counted, which a master that never rests would else stay ahead of

Invariants. A message is acknowledged when all members of *every* set that may be the persisted one
have it: whoever is elected then has it. So a member that is to go counts until it is known that it
is gone, and one that comes counts before anybody can know that it came. What is acknowledged while
somebody may go is on our own disk, for we stay: a power cut here would take what nobody else still
has but who was let go. The set that is proposed differs from the persisted one, and there is one
proposal at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, final

from gantrymq.ha.lease import NO_DISKS
from gantrymq.ha.member_frames import Report

# A member that is behind, and got no further for so long, is to go.
PROGRESS_SECONDS: Final = 1.5

# After so long the master begins to have its own log on its disk: before a member goes all that was
# acknowledged has to be there, and sends wait for both.
MISSED_SECONDS: Final = 0.7

# A member that gets on, and is not where the log ended so long ago, is slower than producers: they
# would all wait for it for good.
LAG_SECONDS: Final = 3.0

# A member that gets so quickly to where the log ended keeps up with it.
NEAR_SECONDS: Final = 0.5

# A member that is to come, and is counted already, has so long to reach what was acknowledged.
JOIN_SECONDS: Final = 1.0

NEVER: Final = float("inf")

_NOTHING: Final = Report(-1, -1)


@final
@dataclass(slots=True)
class _Progress:
    """Of one follower that is connected, or was."""

    report: Report
    at: float
    """When it last got further, or had all there was."""
    goal: int = -1
    """Where the log ended when it last got to its goal, and when that was; -1: it has just come."""
    goal_at: float = 0.0
    joins_at: int | None = None
    """Who is to come has to reach this first; it counts from then on."""
    joins_by: float = 0.0


@final
class InSync:
    """Of one master in its epoch."""

    __slots__ = (
        "_disks",
        "_flushes",
        "_me",
        "_progress",
        "_proposed",
        "_sure",
        "fenced",
        "lets_go",
        "persisted",
    )

    def __init__(
        self,
        me: int,
        persisted: AbstractSet[int],
        now: float,
        *,
        flushes: bool,
        disks: Mapping[int, str] = NO_DISKS,
    ) -> None:
        """`flushes`: what is acknowledged is on the disks, not only in the logs, of all. Members
        that have not connected yet have `PROGRESS_SECONDS` to do so. `disks`: as the lease says."""
        self._disks = dict(disks)
        """By member, the disk that what it reports is on; also of who is not in the set yet."""
        self.fenced: AbstractSet[int] = frozenset()
        """Who may not be master by an operator's word, and so is waited for by nobody."""
        self.persisted = frozenset(persisted) | {me}
        self._flushes = flushes
        self.lets_go = False
        """Whether somebody is to go, from before that is proposed: else what was acknowledged could
        grow faster than it gets to our disk."""
        self._me = me
        self._progress = {each: _Progress(_NOTHING, now) for each in self.persisted - {me}}
        self._proposed: frozenset[int] | None = None
        self._sure = self.persisted
        """Those of the set by a Lease that is believed; the others a doubted one claims."""

    # ------------------------------------------------------------------ the disks

    def other_disk(self, member: int, disk: str) -> str | None:
        """The disk that this member counts with, where it is not this one; None: this one may
        follow in its place."""
        known = self._disks.get(member, "")
        return known if member in self.counted and known not in ("", disk) else None

    def meets(self, member: int, disk: str) -> None:
        """It follows with this disk."""
        self._disks[member] = disk

    def disks(self, members: AbstractSet[int]) -> Mapping[int, str]:
        """Of these, where known."""
        return {each: self._disks[each] for each in members if self._disks.get(each)}

    # ------------------------------------------------------------------ what members say

    def heard(self, member: int, report: Report, log_end: int, now: float) -> None:
        """It follows, and has so much of a log that ends here."""
        known = self._progress.get(member)
        if known is None:
            known = self._progress[member] = _Progress(report, now)
        position = self._position(report)
        if position > self._position(known.report) or position >= log_end:
            known.at = now
        known.report = report
        if position >= known.goal:
            is_near = known.goal >= 0 and now <= known.goal_at + NEAR_SECONDS
            known.goal, known.goal_at = log_end, now
            if is_near or position >= log_end:
                self._begin_to_count(member, known, log_end, now)

    def _begin_to_count(self, member: int, known: _Progress, log_end: int, now: float) -> None:
        if known.report.is_refusing or member in self.fenced:
            return  # it would soon be gone again, and all would have waited for it
        if member not in self.persisted and known.joins_at is None:
            known.joins_at, known.joins_by = log_end, now + JOIN_SECONDS

    def lost(self, member: int) -> None:
        """Its connection ended. It counts as before; who is to come begins anew."""
        known = self._progress.get(member)
        if known is not None:
            known.joins_at = None
            known.goal = -1

    # ------------------------------------------------------------------ who is in it

    def wanted(self, now: float) -> frozenset[int] | None:
        """The set to propose now; None while all is well, or a proposal is under way."""
        if self._proposed is not None:
            return None
        wanted = {self._me}
        for member, progress in self._progress.items():
            is_of_it = member in self.persisted or self._has_joined(progress)
            if is_of_it and now < self._goes_at(member, progress):
                wanted.add(member)
        return frozenset(wanted) if wanted != self.persisted else None

    def _goes_at(self, member: int, progress: _Progress) -> float:
        """When it has to go, if it gets no further; who is leaving, or fenced, at once."""
        if progress.report.is_leaving or member in self.fenced:
            return -NEVER
        goes_at = progress.at + PROGRESS_SECONDS
        if self._position(progress.report) < progress.goal:
            goes_at = min(goes_at, progress.goal_at + LAG_SECONDS)
        return goes_at

    def _has_joined(self, progress: _Progress) -> bool:
        """Whether it has all that can have been acknowledged without it."""
        mark = progress.joins_at
        return mark is not None and self._position(progress.report) >= mark

    def turn(self, now: float) -> None:
        """Who does not get there holds nobody up any longer."""
        for member, progress in self._progress.items():
            has_time = now < progress.joins_by or self._has_joined(progress)
            if not has_time or now >= self._goes_at(member, progress):
                progress.joins_at = None

    def deadline(self) -> float:
        """When somebody may have to go."""
        due = NEVER
        for member, progress in self._progress.items():  # a loop, as each turn asks
            if member in self.persisted:
                at = self._goes_at(member, progress)
            elif progress.joins_at is not None and not self._has_joined(progress):
                at = progress.joins_by
            else:
                continue
            due = min(due, at)
        return due

    def missed_at(self) -> float:
        """When `misses_somebody` becomes true, unless somebody is heard before."""
        due = NEVER
        for member, progress in self._progress.items():
            if member in self.persisted:
                due = min(due, progress.at + MISSED_SECONDS)
        return due

    def misses_somebody(self, now: float) -> bool:
        """Whether somebody of the set has got no further for MISSED_SECONDS."""
        return now >= self.missed_at()

    def prepare(self, wanted: frozenset[int] | None) -> None:
        """Called with each answer of `wanted`: from now on what is acknowledged is on our own disk
        where somebody is to go."""
        self.lets_go = wanted is not None and not self.persisted <= wanted

    def propose(self, members: frozenset[int]) -> None:
        """Called before the request leaves."""
        assert self._proposed is None
        self._proposed = members

    def settled(self, persisted: AbstractSet[int], claimed: AbstractSet[int] = frozenset()) -> None:
        """The lease was read or written, and this is what it says. Acknowledgements also wait for
        members that only a doubted lease names; those do not count towards the minimum."""
        self._sure = frozenset(persisted) | {self._me}
        self.persisted = self._sure | claimed
        self._proposed = None
        self.lets_go = False
        for progress in self._progress.values():
            progress.joins_at = None
        # No keys() here: they would make it a set, and compiled code believes that it is frozen.
        for member in self.persisted - {self._me} - frozenset(self._progress):
            self._progress[member] = _Progress(_NOTHING, 0.0)

    @property
    def counted(self) -> frozenset[int]:
        """All who have to have a message: of the sets, and who is to come."""
        counted = self.persisted if self._proposed is None else self.persisted | self._proposed
        for member, progress in self._progress.items():
            if progress.joins_at is not None and member not in counted:
                counted |= {member}
        return counted

    @property
    def electable(self) -> frozenset[int]:
        """All whom the lease may name, whatever came of the last proposal: who is only to come can
        seek it after that alone."""
        return self.persisted | (self._proposed or frozenset())

    @property
    def sure(self) -> frozenset[int]:
        """Those of the persisted set that are in it by a Lease that is believed."""
        return self._sure

    @property
    def size(self) -> int:
        """How many are surely in it, whichever set it is."""
        return (
            len(self._sure) if self._proposed is None else min(len(self._sure), len(self._proposed))
        )

    # ------------------------------------------------------------------ what may be acknowledged

    def acknowledged(self, own: Report) -> int:
        """Up to where all have the log; `own` is what we have ourselves."""
        end = own.flushed if self.lets_go else self._position(own)
        for member in self.counted:
            if member != self._me:
                end = min(end, self._position(self._progress[member].report))
        return max(0, end)

    def _position(self, report: Report) -> int:
        return report.flushed if self._flushes else report.received
