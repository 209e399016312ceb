"""Tracks messages that were stored again for a retry, until the slaves have the copies.

Once the retry copy of a message is stored, the group's offset moves past the message. A slave of
fixed roles receives offsets by requests and the log by another connection. A slave whose log lacks
the copy, and that becomes master, would deliver neither the message nor the copy. A slave therefore
receives an offset no higher than the first message whose copy its log lacks.

    place, offset    the message that was copied, in a group's queue
    end              the log up to here has the copy

In memory only: after a restart the master does not know earlier copies.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, final

from gantrymq.broker.core.tables.in_flight import Place

# 150 bytes each. A slave that lacks more copies than this lacks so many messages besides that its
# group repeats much anyway.
COPIES_MAX: Final = 10_000


@final
class RetryCopies:
    """The copies of one master; its slaves have different log ends."""

    __slots__ = ("_copies",)

    def __init__(self) -> None:
        self._copies: deque[tuple[int, Place, int]] = deque(maxlen=COPIES_MAX)

    def note(self, place: Place, offset: int, end: int) -> None:
        """Record that the log has the retry copy of this message below `end`."""
        self._copies.append((end, place, offset))

    def bounds(self, out: Iterable[tuple[Place, int]], log_end: int) -> dict[Place, int]:
        """By queue of a group, the first message that a slave whose log ends at `log_end` must not
        skip.

        `out` has the first in-flight message of each queue.
        """
        lowest = dict(out)
        for end, place, offset in self._copies:
            if end > log_end:
                lowest[place] = min(offset, lowest.get(place, offset))
        return lowest
