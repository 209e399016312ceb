"""How long things took, in little room: percentiles to 2 % for any number of them."""

from __future__ import annotations

import math
from typing import Final, final

# Each bucket reaches 2 % further than the one before; the first one holds all below a microsecond.
_GROWTH: Final = math.log(1.02)
_UNIT_S: Final = 1e-6
_BUCKETS: Final = 1_300  # beyond a day


@final
class Latencies:
    """In seconds."""

    def __init__(self) -> None:
        self.count = 0
        self.max_s = 0.0
        self._buckets = [0] * _BUCKETS

    def add(self, seconds: float) -> None:
        """Hot: of every message."""
        self.count += 1
        self.max_s = max(self.max_s, seconds)
        place = 0 if seconds <= _UNIT_S else int(math.log(seconds / _UNIT_S) / _GROWTH) + 1
        self._buckets[min(place, _BUCKETS - 1)] += 1

    def percentile(self, share: float) -> float:
        """So many of all took no longer, to 2 %; 0.0 of none."""
        wanted = math.ceil(share * self.count)
        passed = 0
        for place, count in enumerate(self._buckets):
            passed += count
            if count and passed >= wanted:
                return min(self.max_s, _UNIT_S * math.exp(place * _GROWTH))
        return 0.0
