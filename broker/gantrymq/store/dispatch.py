"""Dispatch: what the log holds becomes units of queues and keys of the index, in the log's order.

Every record becomes a unit of its queue, except those of prepared and rolled back transactions,
and is entered under its keys, except rolled back ones. Doing a stretch of the log again changes
nothing: queues know what they have, and keys are entered from `index_from` on only.

Invariant: below `position` everything is dispatched. What the disk refuses leaves it where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from gantrymq.store.consumequeue import ADDED, GAP
from gantrymq.store.entry import Entry
from gantrymq.store.index import Index
from gantrymq.store.marks import LogMark
from gantrymq.store.queue_folder import folder_fault
from gantrymq.store.queues import Queues
from gantrymq.wire import java_string

# Names of topics that are remembered as text; what is not is made again.
TOPICS_MAX = 100_000


@final
class Dispatcher:
    """Of queues and an index that have everything below the mark it starts at."""

    __slots__ = (
        "_index",
        "_queues",
        "_topics",
        "arrived",
        "gaps",
        "index_from",
        "position",
        "record_start",
        "store_timestamp_ms",
        "unplaced",
    )

    def __init__(self, queues: Queues, index: Index | None) -> None:
        self._index = index
        self._queues = queues
        self._topics: dict[bytes, str] = {}
        self.index_from = 0
        self.position = 0
        self.record_start = 0
        self.store_timestamp_ms = 0
        self.arrived: dict[tuple[str, int], None] = {}
        """Queues that have new units since somebody took note."""
        self.gaps: dict[tuple[str, int], None] = {}
        """Queues that miss units before one that was to be added; they have to be rebuilt."""
        self.unplaced = 0
        """Records of topics that cannot have a folder, as a log of another hand may hold."""

    @property
    def mark(self) -> LogMark:
        return LogMark(self.position, self.record_start, self.store_timestamp_ms)

    def start_at(self, mark: LogMark) -> None:
        """Everything below is dispatched."""
        self.position = mark.position
        self.record_start = mark.record_start
        self.store_timestamp_ms = mark.store_timestamp_ms

    def dispatch(self, entries: Sequence[Entry]) -> None:
        """The next records of the log; after a DiskError go on from `position`."""
        for entry in entries:
            if entry.has_unit:
                self.unit(entry)
            self.keys(entry)
            self.record_start = entry.physical_offset
            self.position = entry.physical_offset + entry.size
            self.store_timestamp_ms = entry.store_timestamp_ms

    def unit(self, entry: Entry) -> None:
        """The queue's part."""
        topic = self._topic(entry.topic)
        if folder_fault(topic, entry.queue_id) is not None:
            self.unplaced += 1
            return
        appended = self._queues.append(
            topic,
            entry.queue_id,
            entry.queue_offset,
            entry.physical_offset,
            entry.size,
            entry.tags_code,
        )
        if appended is ADDED:
            self.arrived[topic, entry.queue_id] = None
        elif appended is GAP:
            self.gaps[topic, entry.queue_id] = None

    def keys(self, entry: Entry) -> None:
        """The index's part."""
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
        arrived, self.arrived = self.arrived, {}
        return tuple(arrived)

    def _topic(self, name: bytes) -> str:
        topic = self._topics.get(name)
        if topic is None:
            if len(self._topics) >= TOPICS_MAX:
                self._topics.clear()
            topic = self._topics[name] = java_string.utf8_text(name)
        return topic
