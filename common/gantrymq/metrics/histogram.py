"""Provides histograms: they count values by size."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import final


@final
class Histogram:
    """Counts the values of one series by size. Its owner changes it on hot paths.

    `counts[i]` is the number of values that are at most `bounds[i]` and above the bound before. One
    more number at the end counts the values above all bounds.
    """

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds: Sequence[float] = bounds
        self.counts: list[int] = [0] * (len(bounds) + 1)
        self.total: float = 0.0
        """The sum of all values."""

    def note(self, value: float, times: int = 1) -> None:
        """Count a value that occurred `times` times."""
        self.counts[bisect_left(self.bounds, value)] += times
        self.total += value * times

    def add(self, counts: Sequence[int], total: float) -> None:
        """Add the counts and the sum of another histogram with the same bounds."""
        own = self.counts
        for place, count in enumerate(counts):
            own[place] += count
        self.total += total

    @property
    def count(self) -> int:
        return sum(self.counts)
