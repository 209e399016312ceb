"""Deletes topics: removes their queues, and keeps dispatch from making them again from the log.

The log keeps a deleted topic's records until their files are deleted. Whatever dispatches a part of
the log again, such as a start after a crash or the rebuild of a queue, would put them into the
queues of a new topic of this name, in place of new messages. So the end of the log is saved and
synced before the queues are removed (deleted_topics.py). The topic's records below it get no units
any more. They still have keys.

Invariants. A record that is written after a deletion never lies below the deletion's position: if a
crash has shortened the log, the position is lowered and synced before anything is written there. A
deletion is dropped from the list when the log's start has passed its position by one file. While a
deletion cannot be saved, the store accepts no messages and retries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.base.disk import Disk, DiskError, DiskFailure
from gantrymq.store.commitlog.commitlog import CommitLog
from gantrymq.store.commitlog.recovery_start import record_at
from gantrymq.store.consumequeue.consumequeue import ConsumeQueue
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.store.dispatch.deleted_topics import PATH, Deleted, encode, read
from gantrymq.store.dispatch.dispatch import Dispatcher
from gantrymq.store.files import atomic_file
from gantrymq.store.files.segments import SyncFailedError

# With names of 30 bytes the list has 5 MB, and each deletion writes it. Beyond that the oldest
# deletions are dropped: their files of the log are deleted next.
TOPICS_MAX: Final = 100_000

RETRY_SECONDS: Final = 0.25

_SYNCS: Final = ("sync", "sync_folder")


@final
class Deletions:
    """The deletions of one store. Recovery calls `load`, `remove_queues` and `settle`, in this
    order."""

    __slots__ = (
        "_asked",
        "_disk",
        "_dispatcher",
        "_log",
        "_next",
        "_queues",
        "_topics",
        "failure",
    )

    def __init__(self, disk: Disk, log: CommitLog, queues: Queues, dispatcher: Dispatcher) -> None:
        self._asked: dict[str, None] = {}
        self._disk = disk
        self._dispatcher = dispatcher
        self._log = log
        self._next = float("-inf")
        self._queues = queues
        self._topics: dict[str, Deleted] = {}
        self.failure: DiskError | None = None
        """Why a deletion has to wait, or None."""

    # ------------------------------------------------------------------ start

    def load(self, *, is_clean: bool) -> None:
        """Load the list. From now on deleted records are not dispatched."""
        self._topics = read(self._disk)
        if self._topics and not is_clean:
            self._keep()
        self._dispatcher.skip(self._topics)

    def _keep(self) -> None:
        """Write the list again, and sync it. The previous process may have been killed before its
        sync, or its sync may have failed, and this start acts on the list."""
        try:
            atomic_file.replace(self._disk, PATH, encode(self._topics))
        except DiskError as error:
            if error.failure is not DiskFailure.NO_SPACE:
                raise
            atomic_file.sync(self._disk, PATH)

    def remove_queues(self) -> None:
        """Remove queues of deleted topics that the previous process did not get to."""
        queues = self._queues
        for topic, deleted in self._topics.items():
            for queue_id in queues.queue_ids(topic):
                queue = queues.find(topic, queue_id)
                # A faulty queue may lack its newest units; recovery rebuilds it.
                if queue and queue not in queues.faults and self._is_older(queue, deleted):
                    queues.delete(queue)

    def _is_older(self, queue: ConsumeQueue, deleted: Deleted) -> bool:
        """Whether all records of the queue were deleted."""
        if queue.physical_end > deleted.position:
            return False
        if queue.end == queue.start:
            return True
        position = queue.unit(queue.end - 1)[0]
        item = record_at(self._log.segments, position)
        record = None if item is None else item.record
        return record is None or deleted.covers(position, record.store_timestamp_ms)

    def settle(self) -> None:
        """Lower the positions that are above the end of the recovered log."""
        end = self._log.end
        topics = {
            topic: replace(each, position=min(each.position, end))
            for topic, each in self._topics.items()
        }
        if topics != self._topics:
            self._write(topics)

    # ------------------------------------------------------------------ deleting

    def ask(self, topic: str) -> None:
        """Delete the topic in the next turn."""
        self._asked[topic] = None

    def turn(self, now: float, *, is_copy: bool) -> None:
        """Delete the topics: all their records that are in the log now."""
        if not self._asked or now < self._next:
            return
        noted = self._noted()
        try:
            if not is_copy:  # a copy's bytes behind its end continue it
                self._log.tidy()  # a later record may not follow refused ones
            if noted:
                self._write({**self._topics, **noted})
        except DiskError as error:
            if error.operation in _SYNCS:
                raise SyncFailedError(error) from error
            self.failure = error
            self._next = now + RETRY_SECONDS
            return
        for topic in self._asked:
            self._queues.delete_topic(topic)
        self._asked.clear()
        self.failure = None

    def deadline(self) -> float:
        """The time at which `turn` has work."""
        return self._next if self._asked else NEVER

    def _noted(self) -> dict[str, Deleted]:
        """The deletions to be saved: of topics that have queues, or get them from the log's
        rest."""
        is_behind = self._dispatcher.position < self._log.end
        deleted = Deleted(self._log.end, self._log.store_timestamp_ms)
        return {
            topic: deleted for topic in self._asked if is_behind or self._queues.queue_ids(topic)
        }

    def _write(self, topics: Mapping[str, Deleted]) -> None:
        """Save and sync the deletions that still count, and apply them to dispatch."""
        start = self._log.start - self._log.segments.file_bytes  # removing a file may fail
        left = [each for each in topics.items() if each[1].position > start]
        left.sort(key=lambda each: each[1].position)
        kept = dict(left[-TOPICS_MAX:])
        atomic_file.replace(self._disk, PATH, encode(kept))
        self._topics = kept
        self._dispatcher.skip(kept)
