"""Limits the rate of API requests by a token bucket, without I/O: callers pass the time."""

from __future__ import annotations

from typing import final


@final
class TokenBucket:
    """The token bucket of one client. A request takes one token, and may have to wait for it."""

    __slots__ = ("_burst", "_filled_at", "_per_second", "_tokens")

    def __init__(self, per_second: float, burst: float, now: float) -> None:
        assert per_second > 0
        assert burst >= 1
        self._burst = burst
        self._filled_at = now
        self._per_second = per_second
        self._tokens = burst

    def reserve(self, now: float) -> float:
        """Take a token; return the seconds to wait before the request may be sent.

        Reservations queue up: the balance goes below zero, so that later callers wait longer.
        """
        elapsed = max(0.0, now - self._filled_at)
        self._filled_at = max(self._filled_at, now)
        self._tokens = min(self._burst, self._tokens + elapsed * self._per_second) - 1
        return max(0.0, -self._tokens / self._per_second)

    def pause(self, now: float, seconds: float) -> None:
        """Give out no token for this long, as the API demands by Retry-After."""
        self._tokens = min(self._tokens, -seconds * self._per_second)
        self._filled_at = max(self._filled_at, now)
