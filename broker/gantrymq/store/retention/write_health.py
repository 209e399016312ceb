"""Reports what keeps a store from writing, now or recently.

    to_writing    the store is not open, queues cannot follow the log, or the disk is full
    refusal       as above, or the last write to the log failed
    stall         a sync of the log takes so long that no end is in sight
    trouble       any of these; by this a member judges whether it may become master

If there is no space for units, the reserve is given up for them, for acknowledged messages need
them.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.base.disk import DiskError, DiskFailure
from gantrymq.store.append.replica_appender import CopyRefused
from gantrymq.store.commitlog.commitlog import CommitLog
from gantrymq.store.commitlog.log_refusal import LogRefusal
from gantrymq.store.consumequeue.queue_flush import UNWRITTEN_BYTES_MAX
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.store.dispatch.deletions import Deletions
from gantrymq.store.dispatch.dispatch_notifier import DispatchNotifier
from gantrymq.store.record.put_status import UNAVAILABLE, PutStatus, Refused
from gantrymq.store.recovery.flush_coordinator import FlushCoordinator
from gantrymq.store.retention.disk_watch import DiskWatch

# A sync that takes longer counts as stuck, not as slow: a master must not rely on it to end.
STUCK_SECONDS: Final = 2.0

NOT_OPEN: Final = Refused(
    PutStatus.SERVICE_NOT_AVAILABLE, UNAVAILABLE + "The store is starting, or was stopped."
)


@final
class WriteHealth:
    """The state of one store's writes; the store owns it. At first the store is not open."""

    __slots__ = (
        "_deletions",
        "_flushes",
        "_log",
        "_log_refusal",
        "_notifier",
        "_queues",
        "_watch",
    )

    def __init__(
        self,
        log: CommitLog,
        queues: Queues,
        notifier: DispatchNotifier,
        deletions: Deletions,
        watch: DiskWatch,
    ) -> None:
        self._notifier: DispatchNotifier = notifier
        self._deletions: Deletions = deletions
        self._log: CommitLog = log
        self._log_refusal = LogRefusal()
        self._flushes: FlushCoordinator | None = None
        self._queues: Queues = queues
        self._watch: DiskWatch = watch

    def opened(self, flushes: FlushCoordinator) -> None:
        """The store is open, and `flushes` writes its data."""
        self._flushes = flushes

    def closed(self) -> None:
        """The store is closed and writes nothing any more."""
        self._flushes = None

    # ------------------------------------------------------------------ queries

    def to_writing(self) -> Refused | None:
        """Why nothing may be written to the log now, or None. Called for each message."""
        flushes = self._flushes
        if flushes is None:
            return NOT_OPEN
        error = self._notifier.failure or self._deletions.failure
        if error is not None or self._queues.unwritten_bytes > 2 * UNWRITTEN_BYTES_MAX:
            reason = error or flushes.failure or "the disk does not answer"
            return Refused(
                PutStatus.SERVICE_NOT_AVAILABLE,
                f"{UNAVAILABLE}Queues cannot be written: {reason}; the broker goes on by itself "
                "when they can.",
            )
        return self._watch.refusal()

    def refusal(self) -> Refused | None:
        """Why the store cannot write now, or why its last write to the log failed; None
        otherwise."""
        return self.to_writing() or self._log_refusal.last

    def stall(self, now: float) -> str | None:
        """Why it is unknown when the disk will finish a sync; None if the disk answers."""
        flushes = self._flushes
        if flushes is None:
            return "the store is not open"
        began = flushes.flusher.syncing_since
        if began is not None and now >= began + STUCK_SECONDS:
            return f"a sync of the log has been under way for {now - began:.1f} s"
        return None

    def trouble(self, now: float) -> str | None:
        """Why this store cannot accept messages, or could not if it became master; else None."""
        refused = self.refusal()
        return self.stall(now) or (None if refused is None else refused.text)

    # ------------------------------------------------------------------ changes

    def note(self, refused: Refused | None, now: float) -> None:
        """Note the result of a write to the log."""
        self._log_refusal.note(refused, now)
        if refused is not None:
            self._watch.look_soon()

    def note_copy(self, refused: CopyRefused | None, now: float) -> None:
        """Note the result of copying a master's bytes. A diverged log is not a fault of the
        disk."""
        if refused is None or refused.is_diverged:
            self.note(None, now)
        else:
            self.note(Refused(PutStatus.SERVICE_NOT_AVAILABLE, refused.text), now)

    def forget(self, now: float) -> None:
        """Forget failed writes: the role has changed, and they do not count for the new one."""
        self._log_refusal.note(None, now)

    def turn(self, now: float, *, is_copy: bool) -> None:
        """Check whether writes can resume. Call it after everything that the turn writes."""
        if self._lacks_space():
            self._watch.out_of_space()
        self._watch.turn(now)
        if is_copy and self._log_refusal.last is not None:
            has_room = self._watch.has_room(self._log.segments.file_bytes)
            self._log_refusal.doubt(now, has_room=has_room)

    def _lacks_space(self) -> bool:
        """Whether units lack space, so that the reserve is given up. The index does not count: the
        store can do without it."""
        flushes = self._flushes
        return (
            _is_of_space(self._notifier.failure)
            or _is_of_space(self._deletions.failure)
            or (flushes is not None and _is_of_space(flushes.failure))
        )


def _is_of_space(error: DiskError | None) -> bool:
    return error is not None and error.failure is DiskFailure.NO_SPACE
