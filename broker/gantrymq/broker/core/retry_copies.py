"""Remembers which messages were stored once more for another try, until slaves have the copies.

A group is done with a message once its copy for another try is stored, and its offset goes past it.
A slave of fixed roles learns offsets by requests and the log by another connection: one that lags
behind the copy, and becomes master, would give out neither the message nor the copy. So a slave is
told an offset no further than the first message whose copy its log lacks.

    place, offset    the message that was copied, of a group's queue
    end              the log up to here has the copy

In memory only: after a restart of the master nothing is known of earlier copies.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, final

from gantrymq.broker.core.pops.checkouts import Place

# 150 bytes each. A slave that lags behind more copies than these lacks so many messages besides
# that its group consumes much anew anyway.
COPIES_MAX: Final = 10_000


@final
class RetryCopies:
    """Those of one master; its slaves are at different places of the log."""

    __slots__ = ("_copies",)

    def __init__(self) -> None:
        self._copies: deque[tuple[int, Place, int]] = deque(maxlen=COPIES_MAX)

    def note(self, place: Place, offset: int, end: int) -> None:
        """The group is done with this message, for the log has its copy below `end`."""
        self._copies.append((end, place, offset))

    def bounds(self, out: Iterable[tuple[Place, int]], log_end: int) -> dict[Place, int]:
        """By queue of a group, the first message that a slave whose log ends here must not skip;
        `out` are the first ones that are out."""
        lowest = dict(out)
        for end, place, offset in self._copies:
            if end > log_end:
                lowest[place] = min(offset, lowest.get(place, offset))
        return lowest
