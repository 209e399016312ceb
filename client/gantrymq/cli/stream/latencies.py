"""Counts latencies in a histogram of fixed size, and estimates percentiles to 2 %."""

from __future__ import annotations

import math
from typing import Final, final

# Each bucket ends 2 % above the one before. The first bucket holds all below a microsecond.
_GROWTH: Final = math.log(1.02)
_UNIT_S: Final = 1e-6
_BUCKETS: Final = 1_300  # beyond a day


@final
class Latencies:
    """A histogram of durations in seconds."""

    def __init__(self) -> None:
        self.count = 0
        self.max_s = 0.0
        self._buckets = [0] * _BUCKETS

    def add(self, seconds: float) -> None:
        """Count one duration. Hot: called for every message."""
        self.count += 1
        self.max_s = max(self.max_s, seconds)
        bucket = 0 if seconds <= _UNIT_S else int(math.log(seconds / _UNIT_S) / _GROWTH) + 1
        self._buckets[min(bucket, _BUCKETS - 1)] += 1

    def percentile(self, share: float) -> float:
        """Return the duration that this share of all did not exceed, to 2 %; 0.0 without any."""
        wanted = math.ceil(share * self.count)
        passed = 0
        for bucket, count in enumerate(self._buckets):
            passed += count
            if count and passed >= wanted:
                return min(self.max_s, _UNIT_S * math.exp(bucket * _GROWTH))
        return 0.0
