"""Counts values by size, for the histograms of Prometheus' text format."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import final


@final
class Histogram:
    """One series of a histogram. Counted on hot paths, hence plain and slotted.

    `counts` has one number for each upper bound and a last one for what is above all of them; a
    number counts only what is above the bound before.
    """

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds: Sequence[float] = bounds
        self.counts: list[int] = [0] * (len(bounds) + 1)
        self.total: float = 0.0
        """The sum of all values."""

    def note(self, value: float, times: int = 1) -> None:
        """Count a value that occurred so many times."""
        self.counts[bisect_left(self.bounds, value)] += times
        self.total += value * times

    def add(self, counts: Sequence[int], total: float) -> None:
        """Add what was counted elsewhere, with the same bounds."""
        own = self.counts
        for place, count in enumerate(counts):
            own[place] += count
        self.total += total

    @property
    def count(self) -> int:
        return sum(self.counts)
