"""Writes and syncs the consume queues in rounds, and tracks how much of them is on disk.

A round begins every `interval_ms`, with the queues that have `least_pages` pages of 4 KiB not yet
synced. When `thorough_interval_ms` has passed, or the log has run far ahead, a round takes all
queues with unsynced units. Units are written only when their records are on disk. At the end of a
thorough round, every unit is synced that could be written when the round began: `flushed` is then
the log position that was dispatched and on disk at that time, and the checkpoint keeps its store
time as logicsMsgTimestamp. While queues may hold false units (queues.py), `flushed` stays until all
of them were opened.

A turn writes few queues and starts few syncs, so that a round over many queues does not delay the
event loop. A failed sync is raised: it is then unknown what is on disk, and the process must stop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.base.disk import Background, Completion, DiskError
from gantrymq.store.consumequeue.consumequeue import ConsumeQueue
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.store.files.flush_positions import LogPosition

PAGE_BYTES: Final = 4096

# About a millisecond of writes in one turn.
WRITTEN_QUEUES_A_TURN: Final = 64

# Each one has several files, and removing one may wait for the file system's journal.
REMOVED_QUEUES_A_TURN: Final = 4

# The device could take more at a time, but the syncs of the log share it.
SYNCS_MAX: Final = 4

# A start after a crash dispatches again what lies behind the queues' flush position, in about a
# second for each of these. With many queues, a thorough round costs as many syncs.
BEHIND_BYTES: Final = 256 << 20
BEHIND_BYTES_A_QUEUE: Final = 64 << 10

# 16 MiB of tails in memory are 800 000 units. Above that, the oldest are written at once.
UNWRITTEN_BYTES_MAX: Final = 16 << 20


# Another program may have put a file into a deleted queue's folder, or changed its permissions.
REMOVAL_RETRY_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class QueueFlushPolicy:
    """flushIntervalConsumeQueue, flushConsumeQueueLeastPages, flushConsumeQueueThoroughInterval."""

    interval_ms: int = 1000
    least_pages: int = 2
    thorough_interval_ms: int = 60_000
    unwritten_bytes_max: int = UNWRITTEN_BYTES_MAX


@final
class _Syncing:
    """A queue whose files are being synced; `end` is the end of their units when the sync began."""

    __slots__ = ("cuts", "end", "left", "queue")

    def __init__(self, queue: ConsumeQueue, end: int, left: int) -> None:
        self.queue = queue
        self.cuts = queue.cuts
        self.end = end
        self.left = left


@final
class QueueFlush:
    """The flush rounds of one store's queues."""

    __slots__ = (
        "_background",
        "_deleted",
        "_is_thorough",
        "_mark",
        "_mark_count",
        "_next_removal",
        "_next_round",
        "_next_thorough",
        "_policy",
        "_queues",
        "_round",
        "_tickets",
        "_wipes",
        "flushed",
        "queue_count",
    )

    def __init__(
        self,
        queues: Queues,
        background: Background,
        policy: QueueFlushPolicy,
        now: float,
        flushed: LogPosition,
    ) -> None:
        """`flushed`: every queue has the units of everything below it on disk."""
        self._queues = queues
        self._deleted = queues.deleted
        self._background = background
        self._policy = policy
        self._round: list[ConsumeQueue] = []
        self._tickets: dict[int, _Syncing] = {}
        self._is_thorough = False
        self._mark = flushed
        self._mark_count = 0
        self._wipes = 0
        self._next_removal = now
        self._next_round = now + policy.interval_ms / 1000
        self._next_thorough = now + policy.thorough_interval_ms / 1000
        self.flushed = flushed
        self.queue_count = 0
        """The number of queues when `flushed` was taken, all of which are on disk."""

    @property
    def is_under_way(self) -> bool:
        return bool(self._round or self._tickets)

    @property
    def is_syncing(self) -> bool:
        return bool(self._tickets)

    def deadline(self) -> float:
        """The time at which `turn` has work, if nothing happens before; `-NEVER` if it has more
        now."""
        if self._round and self._has_room():
            return -NEVER
        next_round = NEVER if self.is_under_way else self._next_round
        return min(next_round, self._next_removal) if self._deleted.count else next_round

    def turn(self, now: float, on_disk: LogPosition) -> None:
        """Advance the round, after the turn's writes. `on_disk` is the log position that is both
        dispatched and synced.

        It never goes down unless the log is cut.
        """
        has_moved = on_disk.position != self._queues.log_flushed
        self._queues.log_flushed = on_disk.position
        if has_moved and self._queues.unwritten_bytes > self._policy.unwritten_bytes_max:
            self._queues.write_down_to(self._policy.unwritten_bytes_max // 2)
        if now >= self._next_removal:
            self._remove_deleted(now)
        if now >= self._next_round and not self.is_under_way:
            self._begin(now, on_disk)
        written = 0
        while self._round and self._has_room() and written < WRITTEN_QUEUES_A_TURN:
            self._flush(self._round[-1])
            self._round.pop()
            written += 1
        self._end_if_done()

    def _remove_deleted(self, now: float) -> None:
        try:
            self._deleted.remove_some(REMOVED_QUEUES_A_TURN)
        except DiskError as error:
            if error.operation == "sync_folder":
                raise
            self._next_removal = now + REMOVAL_RETRY_SECONDS

    def cut(self, end: LogPosition) -> None:
        """Lower the positions, since the log is about to be cut here. Call it before the queues are
        cut."""
        self.flushed = min(self.flushed, end, key=_position)
        self._mark = min(self._mark, end, key=_position)

    def restart(self, begin: LogPosition) -> None:
        """Continue at `begin`, where a log without records begins now; a round under way counts for
        it."""
        self.flushed = self._mark = begin

    def take(self, completion: Completion) -> bool:
        """Whether this completion is for a queue; a failed sync is raised."""
        syncing = self._tickets.pop(completion.ticket, None)
        if syncing is None:
            return False
        if completion.error is not None:
            raise completion.error
        syncing.left -= 1
        if not syncing.left:
            if syncing.queue.cuts == syncing.cuts:
                self._queues.synced(syncing.queue, syncing.end)
            else:
                self._round.append(syncing.queue)
            self._end_if_done()
        return True

    def _begin(self, now: float, on_disk: LogPosition) -> None:
        self._is_thorough = now >= self._next_thorough or self._is_far_behind(on_disk)
        least_bytes = 1 if self._is_thorough else self._policy.least_pages * PAGE_BYTES
        self._mark = on_disk if self._queues.is_settled else self.flushed
        self._wipes = self._queues.wipes
        if self._is_thorough:
            self._mark_count = self._queues.count
        waiting = self._queues.unsynced
        self._round = [queue for queue in waiting if queue.unsynced_bytes >= least_bytes]
        self._round.reverse()  # the oldest is taken first, from the end
        self._next_round = now + self._policy.interval_ms / 1000
        if self._is_thorough:
            self._next_thorough = now + self._policy.thorough_interval_ms / 1000

    def _is_far_behind(self, on_disk: LogPosition) -> bool:
        allowed = BEHIND_BYTES + BEHIND_BYTES_A_QUEUE * len(self._queues.unsynced)
        return on_disk.position - self.flushed.position > allowed

    def _has_room(self) -> bool:
        return len(self._tickets) < SYNCS_MAX

    def _flush(self, queue: ConsumeQueue) -> None:
        if queue not in self._queues.unsynced:
            return  # deleted, cut or cleared meanwhile
        self._queues.write(queue)
        queue.sync_names()
        paths = queue.unsynced_files()
        syncing = _Syncing(queue, queue.written, len(paths))
        for path in paths:
            self._tickets[self._background.sync(self._queues.file(path))] = syncing

    def _end_if_done(self) -> None:
        if self._is_thorough and not self.is_under_way:
            self._is_thorough = False
            self.flushed = self._mark
            if self._wipes == self._queues.wipes:
                self._queues.settle()
            self.queue_count = self._mark_count


def _position(mark: LogPosition) -> int:
    return mark.position
