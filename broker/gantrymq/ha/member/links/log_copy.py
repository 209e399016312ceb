"""Copies the master's bytes to this member's log, and compares the part that may be damaged.

The part of the log that was not known to be on the disk at a machine crash is received again. Where
it equals the master's bytes it counts as undamaged. Where it differs the log has to be truncated,
which takes a restart of the process.
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

from gantrymq.base.disk import DiskError
from gantrymq.ha.election.actions import Restart
from gantrymq.ha.member.replica_state import ReplicaState
from gantrymq.ha.protocol.handshake import MemberReport
from gantrymq.store.engine import Store

# How long a member whose store refused the master's bytes does not reconnect to the master.
REFUSED_SECONDS: Final = 1.0


@final
class CopyFailure(NamedTuple):
    """Why received bytes were not copied; the link to the master has to be closed."""

    text: str
    pause_seconds: float | None = None
    """How long this member does not reconnect; None for the usual interval."""
    restart: Restart | None = None
    """The restart that truncates the log."""


@final
class LogCopy:
    """One member's copy of the master's log; the outgoing links own it."""

    __slots__ = ("_replica_state", "_store")

    def __init__(self, store: Store, replica_state: ReplicaState) -> None:
        self._replica_state = replica_state
        self._store = store

    def take(self, position: int, data: bytes, now: float) -> CopyFailure | None:
        """Compare the received bytes that this log already has, and append the rest."""
        log = self._store.log
        while data and position < log.end:
            file_end = log.segments.start_of(position) + log.segments.file_bytes
            known = min(log.end, file_end, position + len(data)) - position
            failure = self._compare(position, data[:known])
            if failure is not None:
                return failure
            position, data = position + known, data[known:]
        if data:
            refused = self._store.append_copy(position, data, now)
            if refused is not None:
                return CopyFailure(refused.text, REFUSED_SECONDS)
        return None

    def _compare(self, position: int, theirs: bytes) -> CopyFailure | None:
        """Compare the doubtful part of this log with the master's bytes."""
        try:
            ours = self._store.log.segments.read(position, len(theirs))
        except DiskError as error:
            return CopyFailure(f"this member's log cannot be read: {error}")
        if ours == theirs:
            self._replica_state.compared(position + len(theirs))
            return None
        return CopyFailure(
            "this log is damaged in the part that was not known to be on the disk",
            restart=self._truncate(position + _common(ours, theirs)),
        )

    def resolve(
        self, divergence: int | None, master: MemberReport, *, may_copy_again: bool
    ) -> Restart | None:
        """Have the next start remove what the master's log does not have; None if that takes a
        whole new copy, which is not allowed yet."""
        log = self._store.log
        if divergence is not None and divergence > log.start and divergence >= master.start:
            return self._truncate(divergence)
        if not may_copy_again:
            return None
        self._replica_state.copy_again(divergence or 0)
        return Restart(
            f"copying the whole log again: this log ends at {log.end}, and the master's log,"
            f" which begins at {master.start}, does not continue there"
        )

    def _truncate(self, position: int) -> Restart:
        """Have the next start truncate the log where the master's log differs."""
        self._replica_state.cut(position)
        return Restart(f"truncating log to={position}: the master's log differs from there on")


def _common(one: bytes, other: bytes) -> int:
    """The number of leading bytes that are equal."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (ours, theirs) in pairs if ours != theirs), min(len(one), len(other)))
