"""Tracks offsets that an administrator reset, until the group's consumers have been told.

    assigned -> the next pull of the queue is answered OFFSET_MOVED -> taken

Commits of the queue are ignored in between: a consumer that does not know of the reset yet would
undo it. Invariant: a pending offset is also stored as the group's offset. So there are no more
pending offsets than stored ones, and consumers that ask after a restart begin there.
"""

from __future__ import annotations

from typing import final


@final
class Resets:
    """The broker's pending resets, by group and topic, then by queue id."""

    __slots__ = ("_table",)

    def __init__(self) -> None:
        self._table: dict[tuple[str, str], dict[int, int]] = {}

    def assign(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        self._table.setdefault((group, topic), {})[queue_id] = offset

    def pending(self, group: str, topic: str, queue_id: int) -> int | None:
        """The pending offset of the queue; None when there is no reset."""
        queues = self._table.get((group, topic))
        return None if queues is None else queues.get(queue_id)

    def take(self, group: str, topic: str, queue_id: int) -> int | None:
        """Return the pending offset and drop it, because the answer to this pull carries it."""
        queues = self._table.get((group, topic))
        if queues is None:
            return None
        offset = queues.pop(queue_id, None)
        if not queues:
            del self._table[group, topic]
        return offset

    def remove(self, group: str | None = None, topic: str | None = None) -> None:
        """Remove the resets of a group, of a topic, or of a group in a topic."""
        for place in list(self._table):
            if group in (None, place[0]) and topic in (None, place[1]):
                del self._table[place]
