"""How long sends waited for the store, as runtime info tells it: shares of a minute's sends.

    note(seconds, count)        so many sends were answered after so long
    share(0.99)                 ms within which that share of them was

Counted in classes, each a quarter wider than the one before: a figure is at most a quarter too
high. What is told is the last full minute; in the first one, what there is of it.
"""

from __future__ import annotations

from bisect import bisect_left
from math import inf
from typing import Final, final

MINUTE: Final = 60.0

# From 10 us to 40 s; what takes longer counts as that.
_BOUNDS_MS: Final = tuple(0.01 * 1.25**number for number in range(69))


@final
class Latency:
    """Of one broker."""

    __slots__ = ("_above_ms", "_counts", "_ends_at", "_place", "_told", "_up_to_ms")

    def __init__(self) -> None:
        self._counts = [0] * len(_BOUNDS_MS)
        self._told: list[int] | None = None
        self._ends_at = 0.0
        # The class counted in last: sends that were answered together mostly waited as long.
        self._place = 0
        self._above_ms = 0.0
        self._up_to_ms = 0.0

    def note(self, seconds: float, count: int, now: float) -> None:
        if now >= self._ends_at:
            self._turn(now)
        waited_ms = seconds * 1000
        if not self._above_ms < waited_ms <= self._up_to_ms:
            self._find_class(waited_ms)
        self._counts[self._place] += count

    def share(self, share: float, now: float) -> float:
        """In ms; 0 where nothing was sent."""
        if now >= self._ends_at:
            self._turn(now)
        counts = self._counts if self._told is None else self._told
        left = share * sum(counts)
        for bound_ms, count in zip(_BOUNDS_MS, counts, strict=True):
            left -= count
            if count and left <= 0:
                return bound_ms
        return 0.0

    def _find_class(self, waited_ms: float) -> None:
        """From here on what lies between the bounds of its class counts there."""
        place = min(bisect_left(_BOUNDS_MS, waited_ms), len(_BOUNDS_MS) - 1)
        self._place = place
        self._above_ms = _BOUNDS_MS[place - 1] if place else -inf
        self._up_to_ms = _BOUNDS_MS[place]

    def longest(self, now: float) -> float:
        """In ms."""
        return self.share(1.0, now)

    def _turn(self, now: float) -> None:
        """A minute is over, or several in which nothing came."""
        is_first = self._ends_at == 0.0
        is_next = now < self._ends_at + MINUTE
        empty = [0] * len(_BOUNDS_MS)
        self._told = None if is_first else self._counts if is_next else empty
        self._counts = list(empty)
        self._ends_at = now + MINUTE
