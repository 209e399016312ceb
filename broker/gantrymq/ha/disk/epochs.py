"""Records which epoch wrote which part of a log, and finds where two logs diverge.

Each epoch has one writer. It begins where the writer's log ended when that member became master,
or, if the writer's machine had crashed, where the part of its log begins that may not be on the
disk. Two logs in which an epoch begins at the same position are therefore equal up to the first end
of that epoch in either of them, and have nothing in common after it.

    epochs of A   1 at 0     4 at 73216                     the log ends at 90000
    epochs of B   1 at 0     4 at 73216     5 at 81000      the log ends at 85000
    diverge at    81000

Invariant: numbers rise, and so do positions. An epoch without records is dropped once the
next one has begun.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, final

from gantrymq.base.errors import LocalError


@final
@dataclass(frozen=True, slots=True)
class Epoch:
    """One epoch. It ends where the next one begins, or at the end of the log."""

    number: int
    start: int


Epochs: TypeAlias = tuple[Epoch, ...]
"""The epochs of one log, oldest first."""


def begun(epochs: Epochs, number: int, start: int) -> Epochs:
    """The epochs with a new one added, to which all records from position `start` on belong."""
    if epochs and number <= epochs[-1].number:
        raise LocalError(f"epoch {number} cannot begin after {epochs[-1]}: numbers rise")
    return (*cut(epochs, start), Epoch(number, start))


def cut(epochs: Epochs, log_end: int) -> Epochs:
    """The epochs of a log that now ends at this position."""
    return tuple(each for each in epochs if each.start < log_end)


def trimmed(epochs: Epochs, log_start: int) -> Epochs:
    """The epochs of a log whose oldest files were deleted: epochs that ended before its start are
    left out."""
    ended = sum(1 for each in epochs[1:] if each.start <= log_start)
    return epochs[ended:]


def divergence(ours: Epochs, our_end: int, theirs: Epochs, their_end: int) -> int | None:
    """The position up to which both logs are equal; None if they have no epoch in common."""
    ends = _ends(theirs, their_end)
    for epoch, end in reversed(_ends(ours, our_end).items()):
        if epoch in ends:
            return min(end, ends[epoch])
    return None


def _ends(epochs: Epochs, log_end: int) -> dict[Epoch, int]:
    starts = [each.start for each in epochs[1:]]
    return dict(zip(epochs, [*starts, log_end], strict=False))
