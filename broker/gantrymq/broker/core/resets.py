"""Offsets that an administrator reset, until the group's consumers were told.

    assigned -> the next pull of the queue is answered OFFSET_MOVED -> taken

In between commits of the queue count for nothing: a consumer that does not know yet would undo the
reset. Invariant: whatever is pending is stored as the group's offset too, so there are no more than
offsets, and after a restart consumers that ask begin there.
"""

from __future__ import annotations

from typing import final


@final
class Resets:
    """By group and topic, then by queue."""

    __slots__ = ("_table",)

    def __init__(self) -> None:
        self._table: dict[tuple[str, str], dict[int, int]] = {}

    def assign(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        self._table.setdefault((group, topic), {})[queue_id] = offset

    def pending(self, group: str, topic: str, queue_id: int) -> int | None:
        """Where the group has to go on; None when nobody reset it."""
        queues = self._table.get((group, topic))
        return None if queues is None else queues.get(queue_id)

    def take(self, group: str, topic: str, queue_id: int) -> int | None:
        """The same for a pull, which is told: it is pending no more."""
        queues = self._table.get((group, topic))
        if queues is None:
            return None
        offset = queues.pop(queue_id, None)
        if not queues:
            del self._table[group, topic]
        return offset

    def remove(self, group: str | None = None, topic: str | None = None) -> None:
        """All of a group, of a topic, or of a group in a topic."""
        for place in list(self._table):
            if group in (None, place[0]) and topic in (None, place[1]):
                del self._table[place]
