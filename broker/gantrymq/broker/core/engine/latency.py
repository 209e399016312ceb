"""Measures how long sends wait for the store, for runtime info and metrics.

    note(seconds, count)        so many sends were answered after so many seconds
    share(0.99)                 ms within which that share of the sends was answered
    distribution()              the number of sends in each of Java's classes of times
    longest_ms                  the longest time since the start, Java's putMessageEntireTimeMax

`share` and `distribution` are about the last full minute. During the first minute `share` uses the
sends so far, and `distribution` answers None.

Times are counted in classes, each at most a quarter wider than the one before, so `share` is at
most a quarter too high. Every bound of Java's classes is also a bound here, so `distribution` is
exact.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import inf
from typing import Final, final

MINUTE: Final = 60.0

# Java counts whole milliseconds: its first class has times below 1 ms, its last one has no end.
JAVA_BOUNDS_MS: Final = (1, 10, 50, 100, 200, 500, 1000, 2000, 3000, 4000, 5000, 10_000)

# From 10 us to 40 s; longer times count as 40 s.
_BOUNDS_MS: Final = tuple(
    sorted({*(0.01 * 1.25**number for number in range(69)), *map(float, JAVA_BOUNDS_MS)})
)


@final
class Latency:
    """The times of one broker's sends. The broker's Admission owns it."""

    __slots__ = ("_above_ms", "_counts", "_ends_at", "_place", "_told", "_up_to_ms", "longest_ms")

    def __init__(self, now: float = 0.0) -> None:
        self.longest_ms: float = 0.0
        self._counts = [0] * len(_BOUNDS_MS)
        self._told: list[int] | None = None
        self._ends_at = now + MINUTE
        # The class of the last send. Sends that are answered together mostly belong to one class.
        self._place = 0
        self._above_ms = 0.0
        self._up_to_ms = 0.0

    def note(self, seconds: float, count: int, now: float) -> None:
        if now >= self._ends_at:
            self._turn(now)
        waited_ms = seconds * 1000
        if not self._above_ms < waited_ms <= self._up_to_ms:
            self._find_class(waited_ms)
        self.longest_ms = max(self.longest_ms, waited_ms)
        self._counts[self._place] += count

    def share(self, share: float, now: float) -> float:
        """The time in ms within which this share of the sends was answered; 0 without sends."""
        if now >= self._ends_at:
            self._turn(now)
        counts = self._counts if self._told is None else self._told
        left = share * sum(counts)
        for bound_ms, count in zip(_BOUNDS_MS, counts, strict=True):
            left -= count
            if count and left <= 0:
                return bound_ms
        return 0.0

    def distribution(self, now: float) -> Sequence[int] | None:
        """The number of sends of the last full minute in each of Java's 13 classes of times; None
        in the first minute."""
        if now >= self._ends_at:
            self._turn(now)
        if self._told is None:
            return None
        ends = [bisect_left(_BOUNDS_MS, float(bound)) + 1 for bound in JAVA_BOUNDS_MS]
        begins = [0, *ends]
        return [
            sum(self._told[begin:end])
            for begin, end in zip(begins, [*ends, len(_BOUNDS_MS)], strict=True)
        ]

    def _find_class(self, waited_ms: float) -> None:
        """Select the class of this time. `note` uses it until a time lies outside its bounds."""
        place = min(bisect_left(_BOUNDS_MS, waited_ms), len(_BOUNDS_MS) - 1)
        self._place = place
        self._above_ms = _BOUNDS_MS[place - 1] if place else -inf
        self._up_to_ms = _BOUNDS_MS[place]

    def _turn(self, now: float) -> None:
        """Begin a new minute; several may have passed without sends."""
        is_next = now < self._ends_at + MINUTE
        empty = [0] * len(_BOUNDS_MS)
        self._told = self._counts if is_next else empty
        self._counts = list(empty)
        self._ends_at = now + MINUTE
