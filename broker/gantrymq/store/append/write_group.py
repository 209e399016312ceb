"""Holds the messages of one turn until the log has written or refused all of them.

The records are in the arena, and `entries` has what dispatch needs of them. Each queue counts in
`taken` how many of its messages are in the group: until `end`, new queue offsets must skip those.
The kernel writes its records itself; the general path adds messages as records. Invariant: every
record in the arena has its entry, in the log's order, and the queue offsets have no gaps, whichever
path adds a message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from mypy_extensions import i64

from gantrymq.store.commitlog.arena import Arena
from gantrymq.store.consumequeue.consumequeue import ConsumeQueue
from gantrymq.store.record.delay_levels import DelayLevels
from gantrymq.store.record.dispatch_entry import DispatchEntry, of_record
from gantrymq.store.record.property_scan import PropertyScan
from gantrymq.wire.message.record import Record


@final
class TopicSize:
    """The part of a group that goes to one topic."""

    __slots__ = ("messages", "record_bytes", "topic")

    def __init__(self, topic: bytes) -> None:
        self.topic: bytes = topic
        self.messages: int = 0
        self.record_bytes: int = 0


@final
class WriteGroup:
    """The messages of one turn, in one arena."""

    __slots__ = ("_levels", "_queues", "_scan", "arena", "entries")

    def __init__(self, arena: Arena, levels: DelayLevels) -> None:
        self._levels: DelayLevels = levels
        self._scan: PropertyScan | None = None
        self.arena: Arena = arena
        self.entries: list[DispatchEntry] = []
        self._queues: list[ConsumeQueue] = []

    def number(self, queue: ConsumeQueue, count: i64) -> i64:
        """Reserve queue offsets for `count` messages, and return the first."""
        taken = queue.taken
        if taken == 0:
            self._queues.append(queue)
        queue.taken = taken + count
        return queue.end + taken

    def add(self, message: Record) -> None:
        """Place one message whose queue offset is set."""
        self.arena.add(message)
        self._enter(message)

    def add_batch(self, messages: Sequence[Record]) -> None:
        """Place messages that must be in one file."""
        self.arena.add_batch(messages)
        for message in messages:
            self._enter(message)

    def sizes_from(self, first_entry: int) -> list[TopicSize]:
        """The number and size of the records from this entry on, by topic."""
        sizes: dict[bytes, TopicSize] = {}
        for entry in self.entries[first_entry:]:
            size = sizes.get(entry.topic)
            if size is None:
                size = sizes[entry.topic] = TopicSize(entry.topic)
            size.messages += 1
            size.record_bytes += int(entry.size)
        return list(sizes.values())

    def end(self) -> None:
        """Release the reserved queue offsets: the log has written the group, or refused it."""
        for queue in self._queues:
            queue.taken = 0
        self._queues.clear()

    def _enter(self, message: Record) -> None:
        scan = self._scan
        if scan is None:
            scan = self._scan = PropertyScan()
        self.entries.append(of_record(message, scan, self._levels))
