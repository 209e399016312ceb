"""Limits how many messages are sent per second."""

from __future__ import annotations

from typing import Final, final

# Unused capacity of the last tenth of a second can be used later.
BURST_SECONDS: Final = 0.1


@final
class RateLimit:
    """A token bucket with one token per message, owned by one sender."""

    __slots__ = ("_free_at", "_seconds_each")

    def __init__(self, messages_per_second: int) -> None:
        self._seconds_each = 1 / messages_per_second
        self._free_at = float("-inf")

    def take(self, now: float) -> float:
        """Take one token; return how long to wait before the message is sent."""
        self._free_at = max(self._free_at, now - BURST_SECONDS) + self._seconds_each
        return max(0.0, self._free_at - now)
