"""Decides when this process leads, by the rules of leader election with a Lease, without I/O.

    duration 15 s   a candidate waits this long after the last change of the Lease that it saw
    deadline 10 s   a leader that could not renew for this long has lost
    retry     2 s   the time between two attempts

Times are of the local monotonic clock; wall clocks of different machines are never compared. A
renewal counts from when its request was sent, so a leader gives up at least 5 s before a candidate
may take over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

DURATION_SECONDS: Final = 15.0
DEADLINE_SECONDS: Final = 10.0
RETRY_SECONDS: Final = 2.0


@final
@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """The fields of the Lease object."""

    holder: str
    version: str
    """The resourceVersion: any change of the object changes it."""
    duration_seconds: float = DURATION_SECONDS
    transitions: int = 0
    acquire_time: str = ""


@final
@dataclass(frozen=True, slots=True)
class Claim:
    """The Lease to write, by which this process acquires or renews it."""

    version: str
    """The version of the object that is replaced; empty to create it."""
    transitions: int
    acquire_time: str
    """Empty if this write acquires the Lease."""


@final
class LeaderElection:
    """The state of one candidate. The LeaderElector owns it."""

    def __init__(self, identity: str) -> None:
        self._changed_at = 0.0
        self._identity = identity
        self._record: LeaseRecord | None = None
        self._renewed_at: float | None = None

    @property
    def is_leader(self) -> bool:
        return self._renewed_at is not None

    @property
    def holder(self) -> str:
        """The identity of the leader, as far as this process knows."""
        return "" if self._record is None else self._record.holder

    @property
    def deadline(self) -> float:
        """The time at which a leader has lost unless it renews before. Only a leader has one."""
        assert self._renewed_at is not None
        return self._renewed_at + DEADLINE_SECONDS

    def has_lost(self, now: float) -> bool:
        """Whether a leader must stop: it could not renew, or another process holds the Lease."""
        return self.is_leader and (now >= self.deadline or self._is_held_by_another)

    def observe(self, record: LeaseRecord | None, now: float) -> None:
        """Note the Lease that was read; None if it does not exist."""
        if record is None or self._record is None or record.version != self._record.version:
            self._changed_at = now
        self._record = record

    def claim(self, now: float) -> Claim | None:
        """Return what to write now; None while another process holds the Lease."""
        record = self._record
        if record is None:
            return Claim("", 0, "")
        if record.holder == self._identity:
            return Claim(record.version, record.transitions, record.acquire_time)
        is_free = not record.holder or now - self._changed_at >= record.duration_seconds
        return Claim(record.version, record.transitions + 1, "") if is_free else None

    def claimed(self, record: LeaseRecord, sent_at: float) -> None:
        """Note that the API has written the claim that was sent at `sent_at`."""
        self._record = record
        self._changed_at = sent_at
        self._renewed_at = sent_at

    def released(self) -> None:
        """Note that the Lease was released."""
        self._renewed_at = None

    @property
    def _is_held_by_another(self) -> bool:
        return self._record is not None and self._record.holder not in ("", self._identity)
