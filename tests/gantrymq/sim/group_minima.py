"""How often what has to happen in histories of groups: generators that never come there test
nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

# In a hundred histories, at least. Every commit draws others: what 150 of them show is about four
# standard deviations above each of these, so that chance alone does not fail a run.
A_HUNDRED: Final = {
    "acknowledged": 15_000,
    "conflicts": 60,
    "failovers": 80,
    "grows": 300,
    "kills": 40,
    "new disks in the set": 8,
    "one-way cuts": 30,
    "power cuts": 80,
    "promotions": 180,
    "read": 15_000,
    "shrinks": 150,
    "truncations": 2,
    "unknown outcomes, written": 100,
}

# Fewer say nothing about how often.
LEAST: Final = 50


def lacking(tally: Counter[str], histories: int) -> Sequence[str]:
    """What happened too rarely."""
    if histories < LEAST:
        return []
    return [
        f"{what}: {tally[what]} times, not {count * histories // 100}"
        for what, count in A_HUNDRED.items()
        if tally[what] < count * histories // 100
    ]


def rows(tally: Counter[str]) -> str:
    """For people."""
    return "".join(f"{count:9} {what}\n" for what, count in sorted(tally.items()))
