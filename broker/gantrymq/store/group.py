"""A group: the messages of one turn, until the log has taken or refused them all.

Their bytes are in the arena, what dispatch needs of them in `entries`, and the queues they go to
know how many of them are `taken`: until `end`, whoever numbers a message counts those too. Messages
come from the kernel, which writes them by itself, and as records from the general path. Invariant:
every record of the arena has its entry, in the log's order, and a queue's numbers have no gap,
whoever adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from mypy_extensions import i64

from gantrymq.store.arena import Arena
from gantrymq.store.consumequeue import ConsumeQueue
from gantrymq.store.delay_levels import DelayLevels
from gantrymq.store.entry import Entry, of_record
from gantrymq.store.property_scan import PropertyScan
from gantrymq.wire.message.record import Record


@final
class TopicSize:
    """How much of a group goes to one topic."""

    __slots__ = ("messages", "record_bytes", "topic")

    def __init__(self, topic: bytes) -> None:
        self.topic: bytes = topic
        self.messages: int = 0
        self.record_bytes: int = 0


@final
class Group:
    """Made for an arena, and over with it."""

    __slots__ = ("_levels", "_queues", "_scan", "arena", "entries")

    def __init__(self, arena: Arena, levels: DelayLevels) -> None:
        self._levels: DelayLevels = levels
        self._scan: PropertyScan | None = None
        self.arena: Arena = arena
        self.entries: list[Entry] = []
        self._queues: list[ConsumeQueue] = []

    def number(self, queue: ConsumeQueue, count: i64) -> i64:
        """The queue offset of the first of so many more messages."""
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
        """Place messages that stay in one file."""
        self.arena.add_batch(messages)
        for message in messages:
            self._enter(message)

    def sizes_from(self, first_entry: int) -> list[TopicSize]:
        """The messages from this entry on, and the bytes of their records, by topic."""
        sizes: dict[bytes, TopicSize] = {}
        for entry in self.entries[first_entry:]:
            size = sizes.get(entry.topic)
            if size is None:
                size = sizes[entry.topic] = TopicSize(entry.topic)
            size.messages += 1
            size.record_bytes += int(entry.size)
        return list(sizes.values())

    def end(self) -> None:
        """The log took the group, whose units are next, or refused it, and there will be none."""
        for queue in self._queues:
            queue.taken = 0
        self._queues.clear()

    def _enter(self, message: Record) -> None:
        scan = self._scan
        if scan is None:
            scan = self._scan = PropertyScan()
        self.entries.append(of_record(message, scan, self._levels))
