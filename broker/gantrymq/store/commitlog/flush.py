"""Syncs the log, releases the sends that wait for that, and tracks how much of it is on disk.

A round syncs every file that has bytes between `flushed` and the log's end at the round's start.
Only one round runs at a time, and all waiters share the next one (group commit). When it succeeds,
`flushed` becomes the log's end at its start, and the waiters up to there are released in order.

    SYNC_FLUSH     a round begins as soon as there is a waiter and no round runs; records without
                   a waiter (WAIT=false) are synced within 10 ms
    ASYNC_FLUSH    a round begins every flushIntervalCommitLog if flushCommitLogLeastPages are
                   dirty, and after flushCommitLogThoroughInterval if anything is

Invariants. `flushed` never passes what a sync, begun after the write, has covered. A waiter is
answered once: in time, or late (FLUSH_DISK_TIMEOUT; its message is stored, and may still reach the
disk). A failed sync is final: each call from then on raises SyncFailedError, no waiter is released,
and the process must end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NoReturn, final

from gantrymq.base.bounds import NEVER
from gantrymq.base.disk import Completion, DiskError
from gantrymq.metrics.histogram import Histogram
from gantrymq.metrics.tables.broker import LOG_SYNC
from gantrymq.store.commitlog.commitlog import CommitLog
from gantrymq.store.files.segments import SyncFailedError
from gantrymq.store.settings import FlushDiskType, StoreSettings

PAGE_BYTES: Final = 4096

# The interval of Java's group commit when there is no waiter.
SYNC_INTERVAL_SECONDS: Final = 0.01


@final
@dataclass(frozen=True, slots=True)
class Released:
    """The answer to a waiter: its number, and whether its bytes are on disk."""

    waiter: int
    in_time: bool


@final
@dataclass(frozen=True, slots=True)
class _Waiter:
    number: int
    end: int
    deadline: float


@final
class Flusher:
    """The flushes of one log. Call `turn` after the writes of a turn, then sleep until
    `deadline`."""

    __slots__ = (
        "_broken",
        "_due",
        "_interval",
        "_is_sync",
        "_least_bytes",
        "_log",
        "_released",
        "_synced_since",
        "_target",
        "_thorough",
        "_thorough_due",
        "_tickets",
        "_timeout",
        "_waiting",
        "flushed",
        "sync_seconds",
        "syncing_since",
    )

    def __init__(self, log: CommitLog, settings: StoreSettings, now: float) -> None:
        """The log has been resumed, and all of it is on disk."""
        self._log = log
        self._is_sync = settings.flush_disk_type is FlushDiskType.SYNC_FLUSH
        interval_ms = settings.flush_interval_commit_log
        self._interval = SYNC_INTERVAL_SECONDS if self._is_sync else interval_ms / 1000
        self._thorough = settings.flush_commit_log_thorough_interval / 1000
        self._timeout = settings.sync_flush_timeout / 1000
        self._least_bytes = 0
        if not self._is_sync:
            self._least_bytes = settings.flush_commit_log_least_pages * PAGE_BYTES
        self._broken: SyncFailedError | None = None
        self._due = now + self._interval
        self._thorough_due = now + self._thorough
        self._released: list[Released] = []
        self._tickets: set[int] = set()
        self._waiting: deque[_Waiter] = deque()
        self.flushed = log.mark
        self.syncing_since: float | None = None
        """The start time of the round that is under way, or None."""
        self._synced_since: float | None = None
        """The start time of a round that has ended and is not counted in `sync_seconds` yet, or
        None."""
        self.sync_seconds: Histogram = Histogram(LOG_SYNC.buckets)
        """The histogram of the times that rounds of syncs took."""
        self._target = self.flushed

    @property
    def is_syncing(self) -> bool:
        return bool(self._tickets)

    def wait(self, waiter: int, end: int, now: float) -> None:
        """Release this waiter when everything below `end`, the end of its group, is on disk."""
        self._refuse_broken()
        if end <= self.flushed.position:
            self._released.append(Released(waiter, in_time=True))
            return
        assert not self._waiting or self._waiting[-1].end <= end
        self._waiting.append(_Waiter(waiter, end, now + self._timeout))

    def turn(self, now: float) -> None:
        """Begin a round if one is due; release waiters whose time is over."""
        self._refuse_broken()
        if self._synced_since is not None:
            self.sync_seconds.note(now - self._synced_since)
            self._synced_since = None
        while self._waiting and self._waiting[0].deadline <= now:
            self._released.append(Released(self._waiting.popleft().number, in_time=False))
        if not self._tickets and self._is_due(now):
            self.start(now)

    def start(self, now: float) -> None:
        """Begin a round for everything that is not on disk, unless one is under way."""
        self._refuse_broken()
        log = self._log
        position = self.flushed.position
        if self._tickets or position >= log.end:
            return
        self._target = log.mark
        self.syncing_since = now
        self._due = now + self._interval
        self._thorough_due = now + self._thorough
        try:
            while position < log.end:
                self._tickets.add(log.segments.ask_sync(position))
                position = log.segments.start_of(position) + log.segments.file_bytes
        except DiskError as error:
            self._break(error)

    def take(self, completion: Completion) -> bool:
        """Whether the completion belongs to a round; SyncFailedError if the sync failed."""
        if completion.ticket not in self._tickets:
            return False
        self._tickets.remove(completion.ticket)
        if completion.error is not None:
            self._break(completion.error)
        self._refuse_broken()
        if not self._tickets:
            self.flushed = self._target
            self._synced_since, self.syncing_since = self.syncing_since, None
            while self._waiting and self._waiting[0].end <= self.flushed.position:
                self._released.append(Released(self._waiting.popleft().number, in_time=True))
        return True

    def take_released(self) -> Sequence[Released]:
        """The waiters released since the last call, in order."""
        released, self._released = self._released, []
        return released

    def deadline(self) -> float:
        """The time at which `turn` has work, if nothing else happens."""
        due = self._waiting[0].deadline if self._waiting else NEVER
        dirty = self._log.end - self.flushed.position
        if dirty and not self._tickets:
            due = min(due, self._due if dirty >= self._least_bytes else self._thorough_due)
        return due

    def restart(self) -> None:
        """Continue after an empty log was placed elsewhere. No round may run, no send may wait."""
        self._refuse_broken()
        assert not self._tickets and not self._waiting  # noqa: PT018 - a quiet log
        self.flushed = self._target = self._log.mark

    def _is_due(self, now: float) -> bool:
        if self._is_sync and self._waiting:
            return True
        dirty = self._log.end - self.flushed.position
        return now >= (self._due if dirty >= self._least_bytes else self._thorough_due)

    def _break(self, error: DiskError) -> NoReturn:
        self._broken = SyncFailedError(error)
        raise self._broken from error

    def _refuse_broken(self) -> None:
        if self._broken is not None:
            raise self._broken
