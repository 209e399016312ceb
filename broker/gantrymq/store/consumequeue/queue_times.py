"""Finds the message of a queue that was stored at a given time, by binary search.

Units have no time, so the search names the unit whose record's store time it needs next. The caller
reads it from the log, waiting or with a ticket, and passes it to `tell`. Store times never decrease
along a queue.

    LOWER  the first message stored at this time or later; the end of the queue when there is none
    UPPER  the last message stored at this time or earlier; the queue's minimum when there is none

These are RocketMQ 5.3's rules; 4.9 answers the nearest message instead of LOWER.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import final

from gantrymq.base.errors import LocalError
from gantrymq.store.consumequeue.consumequeue import ConsumeQueue


class Boundary(Enum):
    LOWER = "lower"
    UPPER = "upper"


@final
class TimeSearch:
    """One search among the units from `minimum` to `end`."""

    __slots__ = ("_boundary", "_high", "_low", "_minimum", "_timestamp_ms")

    def __init__(self, minimum: int, end: int, timestamp_ms: int, boundary: Boundary) -> None:
        self._minimum = minimum
        self._low = minimum
        self._high = end
        self._timestamp_ms = timestamp_ms
        self._boundary = boundary

    @property
    def probe(self) -> int | None:
        """The unit whose record's store time is needed next; None when the search is over."""
        return None if self._low >= self._high else (self._low + self._high) // 2

    def tell(self, store_timestamp_ms: int) -> None:
        """Pass the store time asked for; a negative one if the log has deleted that record."""
        probe = self.probe
        if probe is None:
            raise LocalError("the search is over")
        is_before = (
            store_timestamp_ms < self._timestamp_ms
            if self._boundary is Boundary.LOWER
            else store_timestamp_ms <= self._timestamp_ms
        )
        if is_before:
            self._low = probe + 1
        else:
            self._high = probe

    @property
    def result(self) -> int:
        if self.probe is not None:
            raise LocalError("the search is not over")
        if self._boundary is Boundary.LOWER:
            return self._low
        return max(self._minimum, self._low - 1)


def offset_by_time(
    queue: ConsumeQueue,
    timestamp_ms: int,
    boundary: Boundary,
    store_time: Callable[[int, int], int],
) -> int:
    """Do a whole search, waiting for the disk. `store_time` gets (physical offset, size)."""
    search = TimeSearch(queue.minimum, queue.end, timestamp_ms, boundary)
    while (probe := search.probe) is not None:
        physical_offset, size, _ = queue.unit(probe)
        search.tell(store_time(physical_offset, size))
    return search.result
