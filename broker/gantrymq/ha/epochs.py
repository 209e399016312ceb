"""Which master wrote which part of the log, and where two logs part.

One epoch has one writer, and begins where its writer's log ended when it became master; where the
writer's machine had gone down, with what it was not yet sure of. Two logs in which an epoch begins
at the same position are therefore equal up to where that epoch ends in either of them, and have
nothing in common behind.

    epochs of A   1 at 0     4 at 73216                     the log ends at 90000
    epochs of B   1 at 0     4 at 73216     5 at 81000      the log ends at 85000
    they part at  81000

Invariant: numbers rise, and so do positions. Of an epoch in which nothing was written nothing is
known any more once the next one has begun.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, final

from gantrymq.base.errors import LocalError


@final
@dataclass(frozen=True, slots=True)
class Epoch:
    """It ends where the next one begins, or with the log."""

    number: int
    start: int


Epochs: TypeAlias = tuple[Epoch, ...]
"""Of one log, the oldest first."""


def begun(epochs: Epochs, number: int, start: int) -> Epochs:
    """With a new epoch, to which everything belongs that is, and will be, behind this place."""
    if epochs and number <= epochs[-1].number:
        raise LocalError(f"epoch {number} cannot begin behind {epochs[-1]}: numbers rise")
    return (*cut(epochs, start), Epoch(number, start))


def cut(epochs: Epochs, log_end: int) -> Epochs:
    """Of a log that ends here now."""
    return tuple(each for each in epochs if each.start < log_end)


def trimmed(epochs: Epochs, log_start: int) -> Epochs:
    """Of a log whose oldest files were deleted: those that ended before it begins are left out."""
    ended = sum(1 for each in epochs[1:] if each.start <= log_start)
    return epochs[ended:]


def parting(ours: Epochs, our_end: int, theirs: Epochs, their_end: int) -> int | None:
    """Up to where both logs are equal; None when no epoch that both know says so."""
    ends = _ends(theirs, their_end)
    for epoch, end in reversed(_ends(ours, our_end).items()):
        if epoch in ends:
            return min(end, ends[epoch])
    return None


def _ends(epochs: Epochs, log_end: int) -> dict[Epoch, int]:
    starts = [each.start for each in epochs[1:]]
    return dict(zip(epochs, [*starts, log_end], strict=False))
