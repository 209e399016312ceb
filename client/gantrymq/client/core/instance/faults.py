"""Tracks slow and failing brokers, and for how long producers avoid them.

    latency of at least  50   100  550   1800  3000  5000  15000 ms
    avoided for          0    0    2000  5000  6000  10000 30000 ms

A failed attempt counts as 10 s, however long it took. Invariant: avoidance is a preference only. If
all brokers are avoided, one of them is used.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, final

_SLOW_S: Final = (0.05, 0.1, 0.55, 1.8, 3.0, 5.0, 15.0)
_LEFT_ALONE_S: Final = (0.0, 0.0, 0.0, 2.0, 5.0, 6.0, 10.0, 30.0)

FAILED_S: Final = 10.0


@final
class Faults:
    """The avoided brokers of one producer, by broker name."""

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def took(self, broker_name: str, seconds: float, now: float) -> None:
        """Record an attempt that succeeded after `seconds`."""
        left_alone_s = _LEFT_ALONE_S[bisect_right(_SLOW_S, seconds)]
        if left_alone_s:
            self._until[broker_name] = now + left_alone_s
        else:
            self._until.pop(broker_name, None)

    def failed(self, broker_name: str, now: float) -> None:
        """Record an attempt that was refused or had no response."""
        self.took(broker_name, FAILED_S, now)

    def is_available(self, broker_name: str, now: float) -> bool:
        return self._until.get(broker_name, 0.0) <= now
