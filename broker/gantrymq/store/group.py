"""A group: the messages of one turn, until the log has taken or refused them all.

Their bytes are in the arena, what dispatch needs of them in `entries`, and the queues they go to
have already counted them: `settle` makes that good, `take_back` undoes it. Messages come from the
kernel, which writes them by itself, and as records from the general path. Invariant: every record
of the arena has its entry, in the log's order, and a queue's numbers have no gap, whoever adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from mypy_extensions import i64

from gantrymq.store.arena import Arena
from gantrymq.store.delay_levels import DelayLevels
from gantrymq.store.entry import Entry, of_record
from gantrymq.store.property_scan import PropertyScan
from gantrymq.wire.message.record import Record


@final
class QueueEnd:
    """The number of a queue's next message, those of the group at hand included."""

    __slots__ = ("next", "settled")

    def __init__(self, next_offset: i64) -> None:
        self.next: i64 = next_offset
        self.settled: i64 = next_offset


@final
class Group:
    """Made for an arena, and over with it."""

    __slots__ = ("_levels", "_moved", "_scan", "arena", "entries")

    def __init__(self, arena: Arena, levels: DelayLevels) -> None:
        self._levels: DelayLevels = levels
        self._scan: PropertyScan = PropertyScan()
        self.arena: Arena = arena
        self.entries: list[Entry] = []
        self._moved: list[QueueEnd] = []

    def number(self, end: QueueEnd) -> i64:
        """The queue offset of one more message."""
        offset = end.next
        if offset == end.settled:
            self._moved.append(end)
        end.next = offset + 1
        return offset

    def add(self, message: Record) -> None:
        """Place one message whose queue offset is set."""
        self.arena.add(message)
        self.entries.append(of_record(message, self._scan, self._levels))

    def add_batch(self, messages: Sequence[Record]) -> None:
        """Place messages that stay in one file."""
        self.arena.add_batch(messages)
        for message in messages:
            self.entries.append(of_record(message, self._scan, self._levels))

    def settle(self) -> None:
        """The log has the group."""
        for end in self._moved:
            end.settled = end.next
        self._moved.clear()

    def take_back(self) -> None:
        """The log refused the group."""
        for end in self._moved:
            end.next = end.settled
        self._moved.clear()
        self.entries.clear()
