"""Holds the time until which a broker may acknowledge messages as persisted.

The master of an elected group acknowledges under a lease. Another member may hold the lease by the
time a response leaves, so the code that sends responses compares this time with a clock that it has
just read.
"""

from __future__ import annotations

from typing import Final, final

ALWAYS: Final = float("inf")


@final
class LeaseDeadline:
    """The acknowledgement deadline of one broker. A broker with a fixed role has no deadline."""

    __slots__ = ("until",)

    def __init__(self, until: float = ALWAYS) -> None:
        self.until: float = until
        """Monotonic seconds."""
