"""Lists how often each event has to happen in histories of groups.

Generators that never reach an event test nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

# In a hundred histories, at least. Every commit draws others, and what happens comes in clusters: a
# history has a trouble often, or never. 150 histories showed at least four times as much of each
# that is rare, so that chance alone does not fail a run.
A_HUNDRED: Final = {
    "acknowledged": 15_000,
    "conflicts": 60,
    "deletions of the lease": 9,
    "differing members": 8,
    "edits of the lease": 9,
    "failovers": 80,
    "foreign disks": 10,
    "grows": 300,
    "kills": 40,
    "lying disks": 6,
    "new disks in the set": 20,
    "one-way cuts": 8,
    "power cuts": 60,
    "power cuts of the whole group": 7,
    "promotions": 180,
    "read": 15_000,
    "remounts": 9,
    "restored leases of an earlier epoch": 2,
    "restored leases of this epoch": 2,
    "rolled back disks": 2,
    "shrinks": 120,
    "slow APIs": 12,
    "stale names": 12,
    "touches of the lease": 25,
    "trouble: emptied disk": 8,
    "trouble: suspend": 8,
    "truncations": 2,
    "twins": 7,
    "typos in operator requests": 8,
    "unknown outcomes, written": 80,
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
