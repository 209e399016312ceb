"""Deletes old files of the log. obsolete_files.py then deletes the files of queues and index.

It checks every cleanResourceInterval. A round of deletion takes place when the hour is one of
deleteWhen, when more of the disk is used than diskMaxUsedSpaceRatio, or when an operator asked for
it. A round deletes the oldest files whose last modification is at least fileReservedTime ago, at
most deleteFileBatchMax, deleteCommitLogFilesInterval apart. Above diskSpaceCleanForciblyRatio their
age does not matter, but only with cleanFileForciblyEnable. As in Java, a file is deleted whether or
not its messages were consumed, and whether or not a follower has copied them: a follower that is
behind the first file starts again at it (docs/design/replication.md).

Invariants. The last file stays, and so do all behind `keep_from()`, the lowest position that
dispatch or the synced flush positions still need. Files are deleted one at a time, the oldest
first, and each deletion is synced before the next (segments.py), so that a crash leaves no gap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from gantrymq.base.disk import Background, Completion, Disk, DiskError
from gantrymq.store.commitlog.commitlog import CommitLog
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.store.index.index import Index
from gantrymq.store.layout import parse_name
from gantrymq.store.recovery.obsolete_files import Failure, ObsoleteFileCleaner
from gantrymq.store.retention.delete_hours import parse_hours
from gantrymq.store.retention.disk_watch import DiskWatch
from gantrymq.store.settings import StoreSettings

# As in Java: the work of a start goes first.
FIRST_LOOK_SECONDS: Final = 60.0

# As in Java, for the request DELETE_EXPIRED_COMMITLOG.
MANUAL_ROUNDS: Final = 20

# The previous file is still being removed, which takes about this long for 1 GiB.
BUSY_SECONDS: Final = 0.1

HOUR_MS: Final = 3_600_000


@final
class Retention:
    """The retention of one store that is open."""

    __slots__ = (
        "_disk",
        "_due",
        "_failure",
        "_hours",
        "_keep_from",
        "_local_hour",
        "_log",
        "_manual_rounds",
        "_next_file",
        "_next_look",
        "_obsolete_files",
        "_queues",
        "_settings",
        "_watch",
    )

    def __init__(
        self,
        disk: Disk,
        background: Background,
        settings: StoreSettings,
        log: CommitLog,
        queues: Queues,
        index: Index,
        watch: DiskWatch,
        *,
        local_hour: Callable[[int], int],
        keep_from: Callable[[], int],
        now: float,
    ) -> None:
        """`local_hour` returns the hour of a wall-clock time in ms, in the broker's time zone."""
        self._disk = disk
        self._log = log
        self._queues = queues
        self._watch = watch
        self._local_hour = local_hour
        self._keep_from = keep_from
        self._settings = settings
        self._hours = parse_hours(settings.delete_when)
        self._obsolete_files = ObsoleteFileCleaner(
            background, queues, index, _pause_seconds(settings)
        )
        self._due = 0
        self._manual_rounds = 0
        self._next_file = float("-inf")
        self._next_look = now + FIRST_LOOK_SECONDS
        self._failure: Failure | None = None

    def change(self, settings: StoreSettings) -> None:
        """Apply changed settings from the next check on, and to a round that is under way."""
        self._hours = parse_hours(settings.delete_when)
        self._settings = settings
        self._obsolete_files.pause_seconds = _pause_seconds(settings)

    def delete_now(self) -> None:
        """Let the next rounds take place at any hour. Files must still be old enough."""
        self._manual_rounds = MANUAL_ROUNDS
        self._next_look = float("-inf")

    @property
    def failure(self) -> Failure | None:
        """The last error since the last check, to be reported; deletion is retried anyway."""
        return self._failure or self._obsolete_files.failure

    def turn(self, now: float, wall_ms: int) -> None:
        """Check if a check is due, and delete a file if one is due."""
        if now >= self._next_look:
            self._next_look = now + self._settings.clean_resource_interval / 1000
            self._look(wall_ms)
        if self._due and now >= self._next_file:
            self._remove_file(now)
        self._obsolete_files.turn(now)

    def take(self, completion: Completion) -> bool:
        """Whether the completion is for a file of queues or index; the log takes those of its
        files."""
        return self._obsolete_files.take(completion)

    def deadline(self) -> float:
        """The time at which `turn` has work, if nothing happens before."""
        due = min(self._next_look, self._obsolete_files.deadline())
        return min(due, self._next_file) if self._due else due

    def _look(self, wall_ms: int) -> None:
        settings = self._settings
        used = self._watch.used_percent
        is_manual = self._manual_rounds > 0
        if is_manual:
            self._manual_rounds -= 1
        self._due = 0
        self._failure = None
        is_full = used > settings.disk_max_used_space_ratio
        if is_manual or is_full or self._local_hour(wall_ms) in self._hours:
            level = settings.disk_space_clean_forcibly_ratio
            is_forced = settings.clean_file_forcibly_enable and used > level
            self._due = self._count_due(wall_ms, is_forced=is_forced)
        self._obsolete_files.begin(self._log.start)

    def _count_due(self, wall_ms: int, *, is_forced: bool) -> int:
        """How many files this round deletes."""
        expired_ms = wall_ms - self._settings.file_reserved_time * HOUR_MS
        try:
            entries = self._disk.list(self._log.segments.folder)
        except DiskError as error:
            self._failure = error
            return 0
        count = 0
        for entry in entries:
            start = parse_name(entry.name)
            if start is None or start < self._log.start:
                continue  # the one being removed
            is_old = is_forced or entry.modified_ms <= expired_ms
            if not is_old or count == self._settings.delete_file_batch_max:
                break
            count += 1
        return count

    def _remove_file(self, now: float) -> None:
        log = self._log
        if log.start + log.segments.file_bytes > self._keep_from():
            self._due = 0
        elif log.remove_first():
            self._due -= 1
            self._next_file = now + self._settings.delete_commit_log_files_interval / 1000
            self._queues.raise_minimum(log.start)
        else:
            self._next_file = now + BUSY_SECONDS


def _pause_seconds(settings: StoreSettings) -> float:
    return settings.delete_consume_queue_files_interval / 1000
