"""Which faults, in which order: all from a seed.

Ten at a time, so that ten have every kind, of some kinds one or another form: which one a run
begins with is the seed's. Or those alone that were asked for, each as often as the others.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from gantrymq.cycles.hosts.faults import FAULTS, Kind

FORMS: Final[tuple[tuple[Kind, ...], ...]] = (
    (Kind.MASTER_KILLED, Kind.POD_KILLED, Kind.LEASE_TOUCHED),
    (Kind.FOLLOWER_KILLED, Kind.FOREIGN_DISK),
    (Kind.MASTER_STOPPED,),
    (Kind.MASTER_CUT,),
    (Kind.FOLLOWER_CUT, Kind.PEERS_PARTED, Kind.MASTER_MUTED),
    (Kind.LEASE_CUT, Kind.SLICE_DELETED),
    (Kind.LEASE_PARTED, Kind.LEASE_SLOW),
    (Kind.MASTER_FULL, Kind.EMPTY_TWIN),
    (Kind.MASTER_TERMINATED,),
    (Kind.SWITCHED, Kind.LEASE_RESTORED),
)
ROUND: Final = len(FORMS)
CYCLES: Final = int(os.environ.get("GANTRY_CYCLES", str(ROUND)))
KINDS: Final = os.environ.get("CYCLES_KINDS", "")
"""Names, with commas between them; all, where there are none."""


@dataclass(frozen=True, slots=True)
class Step:
    number: int
    kind: Kind
    hold_seconds: float


def forms_of(names: str) -> tuple[tuple[Kind, ...], ...]:
    """The faults of a round: of these kinds alone, or of all if `names` is empty. ValueError for a
    name that no kind has."""
    try:
        kinds = [Kind[name.strip().upper()] for name in names.split(",") if name.strip()]
    except KeyError as error:
        known = ", ".join(kind.name for kind in Kind)
        raise ValueError(f"{error} is no kind of fault; there are {known}") from None
    return tuple((kinds[place % len(kinds)],) for place in range(ROUND)) if kinds else FORMS


def rounds(
    count: int, seed: int, forms: Sequence[tuple[Kind, ...]] = FORMS
) -> Iterator[list[Step]]:
    """So many steps, of which each round has a group of its own."""
    chance = random.Random(seed)
    for first in range(0, count, ROUND):
        turn = first // ROUND
        kinds = [some[(seed + turn) % len(some)] for some in forms]
        chance.shuffle(kinds)
        steps = []
        for number, kind in enumerate(kinds, first + 1):
            holds = FAULTS[kind].holds_seconds
            hold = holds[0] if turn == 0 else chance.choice(holds)
            steps.append(Step(number, kind, hold))
        yield steps[: count - first]
