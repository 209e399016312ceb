"""Bounds how many messages are sent in a second."""

from __future__ import annotations

from typing import Final, final

# What was not used may be used later, for so long.
BURST_SECONDS: Final = 0.1


@final
class RateLimit:
    """A bucket of tokens, one for each message."""

    __slots__ = ("_free_at", "_seconds_each")

    def __init__(self, messages_per_second: int) -> None:
        self._seconds_each = 1 / messages_per_second
        self._free_at = float("-inf")

    def take(self, now: float) -> float:
        """How long to wait before one more message is sent."""
        self._free_at = max(self._free_at, now - BURST_SECONDS) + self._seconds_each
        return max(0.0, self._free_at - now)
