"""Decides how long a client waits for an answer of a server whose latency changes.

    fast server   the minimum: a connection that hangs costs no more than that
    slow server   twice the slowest of the last answers, up to the maximum
    no answer     twice as long as before, up to the maximum

A fixed timeout below the server's latency would fail every request for as long as the server is
slow. The slowest answer is forgotten by and by (a half-life of seven answers), so that one slow
answer does not make the next connection that hangs expensive for long.

Pure: the caller measures, and says what it measured.
"""

from __future__ import annotations

from typing import Final, final

# The timeout must leave room for an answer that is slower than those before.
HEADROOM: Final = 2.0
FORGET: Final = 0.9


@final
class AdaptiveTimeout:
    """The timeout of the next request to one server. The owner makes one request at a time, or
    takes the answers of several for those of one."""

    __slots__ = ("_maximum", "_minimum", "_slowest")

    def __init__(self, minimum: float, maximum: float) -> None:
        assert 0 < minimum <= maximum
        self._maximum = maximum
        self._minimum = minimum
        self._slowest = 0.0

    @property
    def seconds(self) -> float:
        """For the next request."""
        return min(max(HEADROOM * self._slowest, self._minimum), self._maximum)

    def answered(self, seconds: float) -> None:
        """A request was answered after so long."""
        self._slowest = max(seconds, FORGET * self._slowest)

    def expired(self) -> None:
        """A request was not answered within `seconds`."""
        self._slowest = self.seconds
