"""Coordinates the flushes of log, queues and index, and saves how far they are.

The flush positions follow what the flushes have synced, and so does Java's checkpoint. The flush
positions of queues and index never pass the log's. A failed sync of log or queues raises
SyncFailedError; a failed sync of the index only stops the index.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, final

from gantrymq.base.disk import Completion, DiskError
from gantrymq.store.commitlog.flush import Flusher, Released
from gantrymq.store.consumequeue import queue_snapshot
from gantrymq.store.consumequeue.queue_flush import QueueFlush, QueueFlushPolicy
from gantrymq.store.dispatch.dispatch import Dispatcher
from gantrymq.store.files.checkpoint import CheckpointFile
from gantrymq.store.files.flush_positions import FlushPositions, LogPosition
from gantrymq.store.files.segments import SyncFailedError
from gantrymq.store.index.index_flush import IndexFlush
from gantrymq.store.recovery.recovery_state import Parts
from gantrymq.store.settings import StoreSettings

# How often flush positions and checkpoint are considered; both have intervals of their own.
ROUND_SECONDS: Final = 1.0

# Units that find no space wait. Space comes back by deletion, which takes longer than this.
RETRY_SECONDS: Final = 0.25

QUEUES_A_STEP: Final = 64


@final
class FlushCoordinator:
    """The flushes of one recovered store."""

    __slots__ = (
        "_checkpoint",
        "_disk",
        "_dispatcher",
        "_flush_positions",
        "_has_news",
        "_index",
        "_index_flush",
        "_is_indexed",
        "_log",
        "_next_round",
        "_queue_flush",
        "_queues",
        "_session_copies",
        "_units_retry",
        "failure",
        "flusher",
    )

    def __init__(
        self,
        parts: Parts,
        checkpoint: CheckpointFile,
        settings: StoreSettings,
        now: float,
    ) -> None:
        self._disk = parts.disk
        self._checkpoint = checkpoint
        self._dispatcher: Dispatcher = parts.dispatcher
        self._index = parts.index
        self._is_indexed = settings.message_index_enable
        self._log = parts.log
        self._flush_positions = parts.flush_positions
        self._queues = parts.queues
        self._session_copies = parts.session_copies
        positions, saved = self.positions, checkpoint.saved
        policy = QueueFlushPolicy(
            settings.flush_interval_consume_queue,
            settings.flush_consume_queue_least_pages,
            settings.flush_consume_queue_thorough_interval,
        )
        queues = LogPosition(positions.queues, 0, saved.queues_ms)
        index = LogPosition(positions.index, 0, saved.index_ms)
        self._next_round = now + ROUND_SECONDS
        self._queue_flush = QueueFlush(parts.queues, parts.background, policy, now, queues)
        self._units_retry = now
        self._has_news = True
        self._index_flush = IndexFlush(parts.index, parts.background, now, index)
        self.flusher = Flusher(parts.log, settings, now)
        self.failure: DiskError | None = None
        """Why units are not written and wait in memory, or None."""

    @property
    def positions(self) -> FlushPositions:
        """The flush positions that were written last."""
        positions = self._flush_positions.latest
        assert positions is not None, "recovery settles the flush positions"
        return positions

    @property
    def synced_positions(self) -> FlushPositions:
        """The flush positions that are synced, which no power cut can take back."""
        positions = self._flush_positions.synced
        assert positions is not None, "recovery settles the flush positions"
        return positions

    def take(self, completion: Completion) -> bool:
        """Whether the completion is for one of the flushes."""
        self._has_news = True
        if self.flusher.take(completion) or self._flush_positions.take(completion):
            return True
        try:
            if self._queue_flush.take(completion):
                return True
        except DiskError as error:
            raise SyncFailedError(error) from error
        if self._index_flush.take(completion) or self._checkpoint.take(completion):
            return True
        return self._session_copies.take(completion)

    def turn(self, now: float) -> Sequence[Released]:
        """Advance the flushes, after the turn's writes and their dispatch. Return the waiters that
        are released."""
        self.flusher.turn(now)
        if self._has_news or self._index.has_much or now >= self._due():
            self._has_news = False
            self._follow(now)
        return self.flusher.take_released()

    def _follow(self, now: float) -> None:
        """Flush queues and index up to the log's flush position, and save the flush positions."""
        dispatched, flushed = self._dispatcher.mark, self.flusher.flushed
        self._flush_queues(now, min(dispatched, flushed, key=_position))
        if self._is_indexed:
            self._index_flush.turn(now, dispatched, flushed.position)
        # After a failure the old flush positions are still true.
        self._flush_positions.advance(self._reached(), now)
        if now >= self._next_round:
            self._next_round = now + ROUND_SECONDS
            self._write_checkpoint(now)

    def deadline(self) -> float:
        """The time at which `turn` has work, if nothing happens before."""
        return min(self.flusher.deadline(), self._due())

    def _due(self) -> float:
        """The time at which anything but the log's flush has work."""
        queues = max(self._queue_flush.deadline(), self._units_retry)
        due = min(queues, self._next_round)
        return min(due, self._index_flush.deadline()) if self._is_indexed else due

    @property
    def is_syncing(self) -> bool:
        """Whether a sync is under way whose completion must be awaited."""
        flushes = (self.flusher, self._queue_flush, self._index_flush)
        files = (self._flush_positions, self._checkpoint, self._session_copies)
        return any(flush.is_syncing for flush in flushes) or any(one.is_syncing for one in files)

    def finish(self) -> bool:
        """Sync everything, waiting for the disk. Return whether the next start has nothing to redo.

        SyncFailedError, or DiskError if there is no space; after the latter it may be repeated.
        """
        log = self._log
        log.segments.sync(self.flusher.flushed.position, log.end)  # first, whatever else is refused
        log.tidy()
        self._queues.log_flushed = log.end
        with contextlib.suppress(DiskError):
            while self._queues.deleted.count:  # otherwise the next start finds them again
                self._queues.deleted.remove_some(QUEUES_A_STEP)
        self._sync_queues()
        end = self._dispatcher.mark
        if self._is_indexed:
            self._index_flush.flush(end)
            if self._index.failure is not None and not self._index.is_broken:
                raise self._index.failure
        self._checkpoint.save(
            replace(
                self._checkpoint.saved,
                log_ms=end.store_timestamp_ms,
                queues_ms=end.store_timestamp_ms,
                index_ms=self._index_flush.flushed.store_timestamp_ms,
            )
        )
        index = self._index_flush.flushed.position
        count = self._queues.count
        self._flush_positions.settle(
            FlushPositions(log.mark, end.position, index, count, len(self._index.files))
        )
        if end.position == log.end:
            self._session_copies.save(end.position, is_start=False)
        return end.position == log.end and (index == log.end or not self._is_indexed)

    def begin(self, position: int) -> None:
        """Continue at `position`, where a log without records begins now; queues, index and flush
        positions follow. No sync may be under way. After a DiskError it may be repeated.

        While there is no file, the flush positions say where the log begins: a log that begins
        elsewhere would be taken for another one.
        """
        log, begin = self._log, LogPosition(position)
        self._session_copies.begin_anew()
        log.clear()
        self._flush_positions.settle(
            replace(self.positions, log=begin, queues=position, index=position)
        )
        log.begin(position)
        self._dispatcher.start_at(begin)
        self._dispatcher.index_from = position
        self._queues.begin_at(position)
        self.flusher.restart()
        self._queue_flush.restart(begin)
        self._index_flush.restart(begin)

    def save_queues(self) -> None:
        """Save where each queue ends, so that the next start opens none: the last step of a clean
        stop."""
        now = queue_snapshot.stamp(
            self._disk, self._log.start, self._log.end, self._queues.file_bytes
        )
        try:
            queue_snapshot.save(self._disk, now, self._queues.states())
        except DiskError:
            return  # the next start takes longer

    def close(self) -> None:
        """Close the files."""
        self._flush_positions.close()
        self._checkpoint.close()
        self._session_copies.close()

    def _flush_queues(self, now: float, on_disk: LogPosition) -> None:
        if now < self._units_retry:
            return
        try:
            self._queue_flush.turn(now, on_disk)
        except DiskError as error:
            if error.operation == "sync_folder":
                raise SyncFailedError(error) from error
            self.failure = error
            self._units_retry = now + RETRY_SECONDS
        else:
            self.failure = None

    def _sync_queues(self) -> None:
        queues = self._queues
        for queue in list(queues.unsynced):
            queues.write(queue)  # may be repeated if there is no space
        try:
            queues.sync_all()
        except DiskError as error:
            raise SyncFailedError(error) from error

    def _reached(self) -> FlushPositions:
        """The flush positions that may be written now."""
        positions, flushed = self.positions, self.flusher.flushed
        queues, index = self._queue_flush.flushed.position, self._index_flush.flushed.position
        if positions.queues < queues <= flushed.position:
            positions = replace(positions, queues=queues, queue_count=self._queue_flush.queue_count)
        if positions.index < index <= flushed.position:
            positions = replace(positions, index=index, index_files=len(self._index.files))
        # Queues of deleted topics must not be counted: the next start would miss them.
        return replace(
            positions, log=flushed, queue_count=min(positions.queue_count, self._queues.count)
        )

    def _write_checkpoint(self, now: float) -> None:
        """Advance Java's checkpoint. After a crash Java removes index files newer than the
        checkpoint, and enters their keys again from the checkpoint on. So for Java only full index
        files count."""
        queues_ms = self._queue_flush.flushed.store_timestamp_ms
        index_ms = self._index.full_ms if self._is_indexed else queues_ms
        checkpoint = replace(
            self._checkpoint.saved,
            log_ms=self.flusher.flushed.store_timestamp_ms,
            queues_ms=min(queues_ms, index_ms),
            index_ms=index_ms,
        )
        with contextlib.suppress(DiskError):  # the next one is tried later
            self._checkpoint.advance(checkpoint, now)


def _position(mark: LogPosition) -> int:
    return mark.position
