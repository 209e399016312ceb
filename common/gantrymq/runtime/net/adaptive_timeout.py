"""Decides how long a client waits for a response from a server whose latency changes.

    fast server   the minimum: a connection that hangs costs no more than that
    slow server   twice the slowest recent response time, up to the maximum
    no response   twice the previous timeout, up to the maximum

A fixed timeout below the server's latency would fail every request for as long as the server is
slow. The slowest response time decays with a half-life of seven responses, so one slow response
does not make the next hanging connection expensive for long.

This module does no I/O and reads no clock: the caller measures and reports.
"""

from __future__ import annotations

from typing import Final, final

# The timeout leaves room for a response that is slower than the previous ones.
HEADROOM: Final = 2.0
FORGET: Final = 0.9


@final
class AdaptiveTimeout:
    """The timeout of the next request to one server.

    The owner makes one request at a time, or reports the responses of several as if they were of
    one.
    """

    __slots__ = ("_maximum", "_minimum", "_slowest")

    def __init__(self, minimum: float, maximum: float) -> None:
        assert 0 < minimum <= maximum
        self._maximum = maximum
        self._minimum = minimum
        self._slowest = 0.0

    @property
    def seconds(self) -> float:
        """The timeout of the next request."""
        return min(max(HEADROOM * self._slowest, self._minimum), self._maximum)

    def answered(self, seconds: float) -> None:
        """Report that a request was answered after `seconds`."""
        self._slowest = max(seconds, FORGET * self._slowest)

    def expired(self) -> None:
        """Report that a request was not answered within the timeout."""
        self._slowest = self.seconds
