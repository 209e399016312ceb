"""Tracks the in-sync replica set (ISR) of one master epoch.

A message is acknowledged only after every member that may become master has it.

    persisted    the set that the lease names; only its members can be elected
    proposed     the set of a write that is under way, from just before the request leaves until its
                 outcome is known; while the outcome is unknown, either set may be the persisted one
    joining      a member that keeps up and is about to enter the set. It counts already, because
                 otherwise the acknowledgements of a busy master could stay ahead of it forever; it
                 is proposed once it has everything that was acknowledged before it counted

Invariants. A message is acknowledged when all members of *every* set that may be the persisted one
have it: any member that is elected then has it. So a member that is being removed counts until its
removal is known to be persisted, and one that is being added counts before the addition can be
persisted. While the set is shrinking, messages are acknowledged only after they are on the master's
own disk, because the master stays in the set: otherwise a power failure here could lose data whose
only other copy is on the removed member. The proposed set differs from the persisted one, and there
is one proposal at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.ha.election.follower_state import FollowerState
from gantrymq.ha.lease.lease import NO_DISKS
from gantrymq.ha.protocol.member_frames import Report

# A member that has made no progress for this long is removed from the set. A report is progress if
# the member's position advanced, or if the member has the whole log.
PROGRESS_SECONDS: Final = 1.5

# If a member has made no progress for this long, the master begins to flush its own log. Before a
# member is removed everything acknowledged has to be on the master's disk, and sends wait for the
# flush and the removal.
LATE_SECONDS: Final = 0.7

# A member that makes progress, but has not reached the position at which the log ended this long
# ago, is slower than the producers: all sends would wait for it forever.
LAG_SECONDS: Final = 3.0

# A member that reaches an earlier end of the log within this time keeps up with it.
NEAR_SECONDS: Final = 0.5

# How long a joining member, which is counted already, may take to reach what was acknowledged.
JOIN_SECONDS: Final = 1.0


_NOTHING: Final = Report(-1, -1)


@final
@dataclass(slots=True)
class _Progress:
    """The replication progress of one follower that is connected, or was."""

    report: Report
    at: float
    """When the member last advanced, or had the whole log."""
    goal: int = -1
    """The position to reach within LAG_SECONDS: the end of the log when the member reached its last
    goal. -1 for a member that has just connected."""
    goal_at: float = 0.0
    """When the goal was set."""
    joins_at: int | None = None
    """The position that a joining member has to reach; the member counts from then on."""
    joins_by: float = 0.0


@final
class InSyncReplicas:
    """The in-sync set of a master in its epoch; the member owns it."""

    __slots__ = (
        "_disks",
        "_flushes",
        "_me",
        "_progress",
        "_proposed",
        "_trusted",
        "fenced",
        "is_shrinking",
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
        """`flushes`: a message counts only once it is on the disk of every member, not just in the
        log. Members that have not connected yet have `PROGRESS_SECONDS` to do so. `disks`: as in
        the lease."""
        self._disks = dict(disks)
        """By member, the disk that holds what it reports; also for members outside the set."""
        self.fenced: AbstractSet[int] = frozenset()
        """Members that an operator has excluded from becoming master: they are removed from the set
        and not added to it."""
        self.persisted = frozenset(persisted) | {me}
        self._flushes = flushes
        self.is_shrinking = False
        """Whether the set is shrinking. This is set before the proposal: otherwise acknowledgements
        could advance faster than the log is flushed."""
        self._me = me
        self._progress = {each: _Progress(_NOTHING, now) for each in self.persisted - {me}}
        self._proposed: frozenset[int] | None = None
        self._trusted = self.persisted
        """The members that a trusted Lease names; only an untrusted Lease names the rest of
        `persisted`."""

    # ------------------------------------------------------------------ disks

    def other_disk(self, member: int, disk: str) -> str | None:
        """The disk with which this member counts, if it is another one than `disk`; None if this
        disk may follow as this member."""
        known = self._disks.get(member, "")
        return known if member in self.counted and known not in ("", disk) else None

    def follows_with(self, member: int, disk: str) -> None:
        """Record that the member follows with this disk."""
        self._disks[member] = disk

    def disks(self, members: AbstractSet[int]) -> Mapping[int, str]:
        """The known disks of these members."""
        return {each: self._disks[each] for each in members if self._disks.get(each)}

    # ------------------------------------------------------------------ reports of members

    def reported(self, member: int, report: Report, log_end: int, now: float) -> None:
        """Record a report of a member. `log_end` is the end of the master's log."""
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
            return  # the member would soon be removed again, after all sends had waited for it
        if member not in self.persisted and known.joins_at is None:
            known.joins_at, known.joins_by = log_end, now + JOIN_SECONDS

    def lost(self, member: int) -> None:
        """Record that the connection of a member ended. A member of the set still counts; a joining
        one starts over."""
        known = self._progress.get(member)
        if known is not None:
            known.joins_at = None
            known.goal = -1

    # ------------------------------------------------------------------ membership

    def wanted(self, now: float) -> frozenset[int] | None:
        """The set to propose now; None if no change is needed or a proposal is under way."""
        if self._proposed is not None:
            return None
        wanted = {self._me}
        for member, progress in self._progress.items():
            is_member = member in self.persisted or self._has_joined(progress)
            if is_member and now < self._removal_at(member, progress):
                wanted.add(member)
        return frozenset(wanted) if wanted != self.persisted else None

    def _removal_at(self, member: int, progress: _Progress) -> float:
        """When the member's removal is proposed, unless it makes progress and reaches its goal
        before: at once if its process ends, or if an administrator has fenced it."""
        if progress.report.is_leaving or member in self.fenced:
            return -NEVER
        removal_at = progress.at + PROGRESS_SECONDS
        if self._position(progress.report) < progress.goal:
            removal_at = min(removal_at, progress.goal_at + LAG_SECONDS)
        return removal_at

    def _has_joined(self, progress: _Progress) -> bool:
        """Whether a joining member has everything that may have been acknowledged without it."""
        mark = progress.joins_at
        return mark is not None and self._position(progress.report) >= mark

    def turn(self, now: float) -> None:
        """Stop counting joining members that have run out of time."""
        for member, progress in self._progress.items():
            has_time = now < progress.joins_by or self._has_joined(progress)
            if not has_time or now >= self._removal_at(member, progress):
                progress.joins_at = None

    def deadline(self) -> float:
        """When the next member may have to be removed."""
        due = NEVER
        for member, progress in self._progress.items():  # a loop, because each turn calls this
            if member in self.persisted:
                at = self._removal_at(member, progress)
            elif progress.joins_at is not None and not self._has_joined(progress):
                at = progress.joins_by
            else:
                continue
            due = min(due, at)
        return due

    def member_late_at(self) -> float:
        """When `has_late_member` becomes true, unless a report arrives before."""
        due = NEVER
        for member, progress in self._progress.items():
            if member in self.persisted:
                due = min(due, progress.at + LATE_SECONDS)
        return due

    def has_late_member(self, now: float) -> bool:
        """Whether a member of the set has made no progress for LATE_SECONDS."""
        return now >= self.member_late_at()

    def prepare(self, wanted: frozenset[int] | None) -> None:
        """Called with each result of `wanted`. If that removes a member, messages are acknowledged
        from now on only after they are on the master's disk."""
        self.is_shrinking = wanted is not None and not self.persisted <= wanted

    def propose(self, members: frozenset[int]) -> None:
        """Record the set of a write; called before the request leaves."""
        assert self._proposed is None
        self._proposed = members

    def confirmed(
        self, persisted: AbstractSet[int], claimed: AbstractSet[int] = frozenset()
    ) -> None:
        """Record the set of the lease that was read or written. Acknowledgements also wait for
        `claimed`, the members that only an untrusted lease names; those do not count towards the
        minimum."""
        self._trusted = frozenset(persisted) | {self._me}
        self.persisted = self._trusted | claimed
        self._proposed = None
        self.is_shrinking = False
        for progress in self._progress.values():
            progress.joins_at = None
        # No keys() here: they would make it a set, and compiled code assumes a frozenset.
        for member in self.persisted - {self._me} - frozenset(self._progress):
            self._progress[member] = _Progress(_NOTHING, 0.0)

    def state(self, member: int) -> FollowerState:
        """The state of a follower of this master."""
        proposed = self.persisted if self._proposed is None else self._proposed
        if member in self.persisted:
            return FollowerState.IN_SYNC if member in proposed else FollowerState.LEAVING
        if member in proposed:
            return FollowerState.ENTERING
        progress = self._progress.get(member)
        is_joining = progress is not None and progress.joins_at is not None
        return FollowerState.JOINING if is_joining else FollowerState.OUTSIDE

    @property
    def counted(self) -> frozenset[int]:
        """All members that must have a message: those of both sets, and the joining ones."""
        counted = self.persisted if self._proposed is None else self.persisted | self._proposed
        for member, progress in self._progress.items():
            if progress.joins_at is not None and member not in counted:
                counted |= {member}
        return counted

    @property
    def electable(self) -> frozenset[int]:
        """All members that the lease may name, whatever the outcome of the last proposal. A joining
        member is not among them: it can seek the lease only after it was proposed."""
        return self.persisted | (self._proposed or frozenset())

    @property
    def trusted(self) -> frozenset[int]:
        """The members of the persisted set that a trusted Lease names."""
        return self._trusted

    @property
    def size(self) -> int:
        """The number of members that are certainly in the set, whichever set is the persisted
        one."""
        return (
            len(self._trusted)
            if self._proposed is None
            else min(len(self._trusted), len(self._proposed))
        )

    # ------------------------------------------------------------------ acknowledgements

    def acknowledged(self, own: Report) -> int:
        """The position up to which all counted members have the log; `own` is the master's own
        position."""
        end = own.flushed if self.is_shrinking else self._position(own)
        for member in self.counted:
            if member != self._me:
                end = min(end, self._position(self._progress[member].report))
        return max(0, end)

    def _position(self, report: Report) -> int:
        return report.flushed if self._flushes else report.received
