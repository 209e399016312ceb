"""Deleting topics: their queues go, and dispatch does not make them again from the log.

The log keeps a deleted topic's records until its files go, and whatever dispatches a stretch of
it again - a start after a crash, a queue that is rebuilt - would show them in the queues of a new
topic of this name, in the place of new messages. So the log's end is written down, for good,
before the queues go (deleted_topics.py): below it the topic's records have no units any more. Keys
they still have.

Invariants. Nothing that is written behind a deletion lies below its position: where a crash has cut
the log shorter the position follows, for good, before anything is written there. What the log's
start has passed by a file is left out. While a deletion cannot be written down no message is taken,
and it is tried again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, final

from gantrymq.base.disk import Disk, DiskError, DiskFailure
from gantrymq.store import own_file
from gantrymq.store.commitlog import CommitLog
from gantrymq.store.consumequeue import ConsumeQueue
from gantrymq.store.deleted_topics import PATH, Deleted, encode, read
from gantrymq.store.dispatch import Dispatcher
from gantrymq.store.queues import Queues
from gantrymq.store.recovery_start import record_at
from gantrymq.store.segments import SyncFailedError

NEVER: Final = float("inf")

# Names of 30 bytes make a list of 5 MB, which is written with each deletion. Beyond, the oldest are
# given up: their files of the log are the next to go.
TOPICS_MAX: Final = 100_000

RETRY_SECONDS: Final = 0.25

_SYNCS: Final = ("sync", "sync_folder")


@final
class Deletions:
    """Of one store. Recovery calls `load`, `remove_queues` and `settle`, in this order."""

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
        """Why a deletion has to wait."""

    # ------------------------------------------------------------------ start

    def load(self, *, is_clean: bool) -> None:
        """From now on the log is dispatched without what was deleted."""
        self._topics = read(self._disk)
        if self._topics and not is_clean:
            self._keep()
        self._dispatcher.skip(self._topics)

    def _keep(self) -> None:
        """The last process may have been killed, or its sync have failed, before the list was on
        disk for good, and what it says is done now."""
        try:
            own_file.replace(self._disk, PATH, encode(self._topics))
        except DiskError as error:
            if error.failure is not DiskFailure.NO_SPACE:
                raise
            own_file.sync(self._disk, PATH)

    def remove_queues(self) -> None:
        """Those that were to go, and were still there when the last process ended."""
        queues = self._queues
        for topic, deleted in self._topics.items():
            for queue_id in queues.queue_ids(topic):
                queue = queues.find(topic, queue_id)
                # One with a fault may have lost its new units, and is made again.
                if queue and queue not in queues.faults and self._is_older(queue, deleted):
                    queues.delete(queue)

    def _is_older(self, queue: ConsumeQueue, deleted: Deleted) -> bool:
        """Whether all that the queue has was deleted."""
        if queue.physical_end > deleted.position:
            return False
        if queue.end == queue.start:
            return True
        position = queue.unit(queue.end - 1)[0]
        step = record_at(self._log.segments, position)
        record = None if step is None else step.record
        return record is None or deleted.covers(position, record.store_timestamp_ms)

    def settle(self) -> None:
        """The log ends where it does, and so do all deletions."""
        end = self._log.end
        topics = {
            topic: replace(each, position=min(each.position, end))
            for topic, each in self._topics.items()
        }
        if topics != self._topics:
            self._write(topics)

    # ------------------------------------------------------------------ deleting

    def ask(self, topic: str) -> None:
        """Its queues go with the next turn."""
        self._asked[topic] = None

    def turn(self, now: float, *, is_copy: bool) -> None:
        """Behind what was written before: whatever the log has of these topics is deleted."""
        if not self._asked or now < self._next:
            return
        noted = self._noted()
        try:
            if not is_copy:  # which goes on with what lies behind its end
                self._log.tidy()  # what was refused may not be found behind it
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
        """When `turn` has something to do."""
        return self._next if self._asked else NEVER

    def _noted(self) -> dict[str, Deleted]:
        """Those of the topics to be deleted that have, or will have, queues from the log."""
        is_behind = self._dispatcher.position < self._log.end
        deleted = Deleted(self._log.end, self._log.store_timestamp_ms)
        return {
            topic: deleted for topic in self._asked if is_behind or self._queues.queue_ids(topic)
        }

    def _write(self, topics: Mapping[str, Deleted]) -> None:
        """What still counts of these, for good, and from now on."""
        start = self._log.start - self._log.segments.file_bytes  # the last one may come back
        left = [each for each in topics.items() if each[1].position > start]
        left.sort(key=lambda each: each[1].position)
        kept = dict(left[-TOPICS_MAX:])
        own_file.replace(self._disk, PATH, encode(kept))
        self._topics = kept
        self._dispatcher.skip(kept)
