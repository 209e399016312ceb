"""Serialises one member's requests to the Lease and keeps what it knows of the Lease.

Invariants. One request is under way at a time. If a known version may be outdated, because a write
was rejected or its outcome is unknown, the Lease is read before it is written again. Only a change
of holder, epoch or renewals is a renewal: any other change of the object does not extend the lease.
A Lease that contradicts what is known does not replace it (`Lease.untrusted_reason`). A Lease that
was untrusted before anything was known is not compared with later ones. No two writes of one member
have the same mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.ha.election.actions import ReadLease, WriteLease
from gantrymq.ha.election.lease_view import DISTRUST, FAIL, LEASE_VIEWS, TRUST, LeaseView
from gantrymq.ha.lease.lease import (
    DURATION_SECONDS,
    Conflict,
    Found,
    Lease,
    LeaseAnswer,
    Mark,
    Missing,
    Unanswered,
    Written,
    untrusted_reason_of,
)

# The read interval in normal operation, and the one after a failed request.
WATCH_SECONDS: Final = 1.0
LOOK_SECONDS: Final = 0.2


class Outcome(Enum):
    """The outcome of a request."""

    READ = 0
    WRITTEN = 1
    FAILED = 2


@final
@dataclass(slots=True)
class _Asked:
    """The request that is under way."""

    number: int
    sent_at: float
    lease: Lease | None
    """The Lease that the request writes; None for a read."""


@final
class LeaseClientState:
    """A member's knowledge of the Lease, and its current request; owned by its leader elector."""

    __slots__ = (
        "_actions",
        "_answered_at",
        "_asked",
        "_last_number",
        "_tried",
        "_trusted",
        "changed_at",
        "lease",
        "read_at",
        "sent_at",
        "touched_at",
        "tried_at",
        "view",
        "written_at",
    )

    def __init__(self, now: float, last_lease: Lease | None = None) -> None:
        """`last_lease`: the last Lease that an earlier process on this disk has seen."""
        self._actions: list[ReadLease | WriteLease] = []
        self._answered_at = -NEVER
        self._asked: _Asked | None = None
        self._last_number = 0
        self._trusted = last_lease
        """The last trusted Lease, possibly of an earlier process on this disk."""
        self._tried = Mark()
        """The highest mark that this member has written or tried to write."""
        self.changed_at = now
        """When this member learned of the current renewal; never before that renewal was
        written."""
        self.lease: Lease | None = None
        self.read_at = now
        """When to read it again."""
        self.sent_at = -NEVER
        """When the last successful write was sent."""
        self.touched_at = now
        """When this member learned of the current version; never before that version was
        written."""
        self.tried_at = -NEVER
        """When the last request was sent."""
        self.written_at = -NEVER
        """When the last successful write was answered; never if a later write was not answered."""
        self.view = LeaseView.UNREAD

    @property
    def is_known(self) -> bool:
        """Whether this process has read the Lease, or found that there is none."""
        return self.view is not LeaseView.UNREAD

    @property
    def is_stale(self) -> bool:
        """Whether the Lease may have changed since it was last seen."""
        return self.view is LeaseView.UNREAD or self.view is LeaseView.STALE

    @property
    def is_busy(self) -> bool:
        return self._asked is not None

    @property
    def expires_at(self) -> float:
        """When the lease expires, for a member that only watches it."""
        return self.changed_at + DURATION_SECONDS

    def look(self, now: float) -> None:
        """Read the Lease soon, because it may have changed."""
        self.read_at = min(self.read_at, now)

    def look_at(self, *, is_urgent: bool) -> float:
        """When to read next."""
        return min(self.read_at, self._answered_at + LOOK_SECONDS) if is_urgent else self.read_at

    def read(self, now: float) -> None:
        self._ask(None, now)
        self._actions.append(ReadLease(self._last_number))
        self.read_at = now + WATCH_SECONDS

    def write(self, lease: Lease, now: float) -> None:
        """Replace the version that the lease names. The mark of each write is above that of the
        member's last write, even if that one was overwritten before its answer came: other members
        may have seen it, and to them a second Lease with the same mark would not be a renewal."""
        assert not self.is_stale
        epoch, renewals = self._tried
        if 0 < lease.epoch == epoch and lease.renewals <= renewals:
            lease = replace(lease, renewals=renewals + 1)
        self._tried = max(self._tried, lease.mark)
        self._ask(lease, now)
        self._actions.append(WriteLease(self._last_number, lease))

    def answered(
        self, number: int, answer: LeaseAnswer, now: float, *, leads: bool = False
    ) -> Outcome | None:
        """Process the answer to a request; None if the request is not the one under way. `leads`:
        this member is master by the Lease that it knows."""
        asked = self._asked
        if asked is None or asked.number != number:
            return None
        self._asked = None
        self._answered_at = now
        match answer:
            case Found(lease):
                return self._found(lease, now, leads=leads)
            case Missing():
                return self._found(None, now, leads=leads)
            case Written(version):
                assert asked.lease is not None
                self.sent_at = asked.sent_at
                self._know(self._usable(replace(asked.lease, version=version)), now)
                self.changed_at = self.touched_at = self.written_at = now
                return Outcome.WRITTEN
            case Conflict():
                self.read_at = now
            case Unanswered():
                self.read_at = now + LOOK_SECONDS
                if asked.lease is not None:
                    self.written_at = -NEVER
        self._enter(FAIL)
        return Outcome.FAILED

    def take_actions(self) -> Sequence[ReadLease | WriteLease]:
        actions, self._actions = self._actions, []
        return actions

    def _ask(self, lease: Lease | None, now: float) -> None:
        assert self._asked is None
        self._last_number += 1
        self._asked = _Asked(self._last_number, now, lease)
        self.tried_at = now

    def _found(self, lease: Lease | None, now: float, *, leads: bool) -> Outcome:
        known, found = self.lease, self._usable(lease, leads=leads)
        if not self.is_known or _renewal(found) != _renewal(known):
            self.changed_at = now
        if not self.is_known or _version(found) != _version(known):
            self.touched_at = now
        self._know(found, now)
        return Outcome.READ

    def _usable(self, found: Lease | None, *, leads: bool = False) -> Lease | None:
        """The Lease to use: the one that was read, or, if that one is not trusted, the last trusted
        one, which the master then writes in its place."""
        if self._trusted is None:
            return found
        known = self.lease or self._trusted
        if found is None:
            return replace(known, version="", untrusted_reason="the Lease was deleted")
        reason = untrusted_reason_of(found, known, leads=leads)
        if reason is None:
            return found
        return replace(
            known,
            version=found.version,
            operator_requests=found.operator_requests,
            fenced=found.fenced,
            untrusted_reason=reason,
            claimed=found.in_sync,
        )

    def _know(self, lease: Lease | None, now: float) -> None:
        is_trusted = lease is None or lease.untrusted_reason is None
        self.lease = lease
        self._enter(TRUST if is_trusted else DISTRUST)
        if lease is not None and is_trusted:
            self._trusted = lease
        self.read_at = now + WATCH_SECONDS

    def _enter(self, event: str) -> None:
        """Change the view as the table says."""
        self.view = LEASE_VIEWS.next(self.view, event)


def _version(lease: Lease | None) -> str:
    return "" if lease is None else lease.version


def _renewal(lease: Lease | None) -> tuple[int, int, int] | None:
    """A value that changes with each renewal and with nothing else."""
    return None if lease is None else (lease.holder, lease.epoch, lease.renewals)
