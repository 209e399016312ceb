"""Derives consume queue units and index keys from the records of the log, in the log's order.

Dispatch also updates the table of producer sessions (sessions/table.py).

Every record gets a unit in its queue, except those of prepared and rolled back transactions and of
topics that have been deleted since (deletions.py). Every record except rolled back ones is entered
in the index under its keys.

A record may not continue its queue if the log is a copy: the master deleted the topic after the
queue's last message, and slaves are not informed of that. Then the queue begins anew with this
record; that is noted (replaced_queues.py) before the old queue is removed. The topic's other queues
stay until one of their own records shows the same, because their messages may be older or newer
than the deletion.

Dispatching a part of the log again changes nothing: queues know which units they have, and keys are
entered from `index_from` on only.

Invariant: everything below `position` is dispatched. If the disk refuses a write, `position` stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, final

from mypy_extensions import i64

from gantrymq.store.consumequeue.consumequeue import ADDED, GAP, ConsumeQueue
from gantrymq.store.consumequeue.queue_folder import folder_fault
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.store.consumequeue.replaced_queues import ReplacedQueues
from gantrymq.store.dispatch.deleted_topics import Deleted
from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.index.index import Index
from gantrymq.store.record.dispatch_entry import DispatchEntry
from gantrymq.store.sessions.table import ProducerSessions
from gantrymq.wire import java_string

# How many topics are cached by the bytes of their name. Others are looked up again.
TOPICS_MAX: Final = 100_000


@final
class Dispatcher:
    """The dispatcher of one store. Queues and index have everything below the position it starts
    at."""

    __slots__ = (
        "_arrived",
        "_index",
        "_known",
        "_queues",
        "_sessions",
        "_skipped",
        "_skipped_below",
        "begins_anew",
        "gaps",
        "index_from",
        "position",
        "record_start",
        "replaced",
        "store_timestamp_ms",
        "unplaced",
    )

    def __init__(
        self,
        queues: Queues,
        index: Index | None,
        replaced: ReplacedQueues,
        sessions: ProducerSessions,
    ) -> None:
        self._index: Index | None = index
        self._sessions: ProducerSessions = sessions
        self._queues: Queues = queues
        self.replaced: ReplacedQueues = replaced
        self._known: dict[bytes, dict[int, ConsumeQueue]] = {}
        self._arrived: list[ConsumeQueue] = []
        self._skipped: dict[str, Deleted] = {}
        self._skipped_below: i64 = 0
        self.index_from: i64 = 0
        self.position: i64 = 0
        self.record_start: i64 = 0
        self.store_timestamp_ms: i64 = 0
        self.begins_anew: bool = False
        """Whether the log is a copy, in which a queue may begin anew."""
        self.gaps: dict[tuple[str, int], None] = {}
        """If not: queues that miss units before one that was to be added. They must be rebuilt."""
        self.unplaced = 0
        """The number of records whose topic cannot be a folder's name, as other programs may
        write."""

    @property
    def mark(self) -> LogPosition:
        return LogPosition(self.position, self.record_start, self.store_timestamp_ms)

    def start_at(self, mark: LogPosition) -> None:
        """Continue at this position: everything below is dispatched."""
        self.position = mark.position
        self.record_start = mark.record_start
        self.store_timestamp_ms = mark.store_timestamp_ms

    def skip(self, topics: Mapping[str, Deleted]) -> None:
        """Add no units for the deleted records of these topics."""
        self._skipped = dict(topics)
        self._skipped_below = max([each.position for each in topics.values()], default=0)

    def dispatch(self, entries: Sequence[DispatchEntry]) -> None:
        """Dispatch the next records of the log. After a DiskError continue from `position`."""
        for entry in entries:
            if entry.has_unit:
                self.unit(entry)
            self.keys(entry)
            if entry.session:
                self._sessions.note(entry.session, entry.physical_offset, entry.store_timestamp_ms)
            self.record_start = entry.physical_offset
            self.position = entry.physical_offset + entry.size
            self.store_timestamp_ms = entry.store_timestamp_ms

    def unit(self, entry: DispatchEntry) -> None:
        """Add the record's unit to its queue."""
        if entry.physical_offset < self._skipped_below and self._is_skipped(entry):
            return
        queue = self._queue(entry.topic, entry.queue_id)
        if queue is None:
            self.unplaced += 1
            return
        appended = self._queues.append_to(
            queue,
            entry.queue_offset,
            entry.physical_offset,
            entry.size,
            entry.tags_code,
        )
        if appended is ADDED:
            if not queue.has_news:
                queue.has_news = True
                self._arrived.append(queue)
        elif appended is GAP:
            if self.begins_anew:
                self.replaced.note(queue.topic, queue.queue_id, int(entry.physical_offset))
                self._queues.delete(queue)
                self.unit(entry)
            else:
                self.gaps[queue.topic, queue.queue_id] = None

    def keys(self, entry: DispatchEntry) -> None:
        """Enter the record's keys in the index."""
        index = self._index
        if index is None or not entry.has_keys or entry.physical_offset < self.index_from:
            return
        if entry.unique_key or entry.keys:
            index.put(
                entry.topic,
                entry.unique_key,
                entry.keys,
                entry.physical_offset,
                entry.store_timestamp_ms,
            )

    def take_arrived(self) -> Sequence[tuple[str, int]]:
        """Topic and queue id of each queue that has new units since the last call."""
        if not self._arrived:
            return ()
        arrived, self._arrived = self._arrived, []
        for queue in arrived:
            queue.has_news = False
        return [(queue.topic, queue.queue_id) for queue in arrived]

    def _is_skipped(self, entry: DispatchEntry) -> bool:
        deleted = self._skipped.get(java_string.utf8_text(entry.topic))
        place = int(entry.physical_offset), int(entry.store_timestamp_ms)
        return deleted is not None and deleted.covers(*place)

    def known(self, topic: bytes, queue_id: i64) -> ConsumeQueue | None:
        """The cached queue of an earlier record, unless it is closed."""
        queues = self._known.get(topic)
        queue = None if queues is None else queues.get(queue_id)
        return queue if queue is not None and queue.is_open else None

    def _queue(self, topic: bytes, queue_id: i64) -> ConsumeQueue | None:
        """The queue, created if it is new; None if its topic cannot be a folder's name."""
        queue = self.known(topic, queue_id)
        if queue is not None:
            return queue
        text = java_string.utf8_text(topic)
        if folder_fault(text, queue_id) is not None:
            return None
        if len(self._known) >= TOPICS_MAX:
            self._known.clear()
        queue = self._queues.find_or_make(text, queue_id)
        self._known.setdefault(topic, {})[queue_id] = queue
        return queue
