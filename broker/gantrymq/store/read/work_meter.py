"""Measures how much of a turn the filters of consumers use, and says when their share is used up.

    refill   once a turn: the filters may use TURN_SECONDS more
    begin    before a piece of filter work; `lap` after it, and after each further piece
    left     seconds that the filters may still use; not above 0: they go on in another turn

Invariant: over many turns filters use at most TURN_SECONDS a turn on average. A piece that took
longer leaves a debt, and there is no filter work until the following turns have paid it. The clock
is a function that the owner passes in: this module reads none by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

# A send that arrives meanwhile waits this long. It is half of what a turn of a busy broker takes.
TURN_SECONDS: Final = 0.003

# The longest debt. A process that was stopped for a minute has not used its filters for a minute.
DEBT_SECONDS_MAX: Final = 0.1


def standing() -> float:
    """A clock that stands still: no filter ever uses up its share."""
    return 0.0


@final
class WorkMeter:
    """The filters' share of the turns. The store owns it."""

    __slots__ = ("_began", "_clock", "left", "used")

    def __init__(self, clock: Callable[[], float] = standing) -> None:
        self._clock: Callable[[], float] = clock
        self._began: float = 0.0
        self.left: float = TURN_SECONDS
        self.used: float = 0.0
        """The seconds that filters have used in all turns."""

    def refill(self) -> None:
        """Begin a turn: add TURN_SECONDS to what filters may use."""
        if self.left < TURN_SECONDS:
            self.left = min(self.left + TURN_SECONDS, TURN_SECONDS)

    def begin(self) -> float:
        """Begin a piece of work; returns the time in seconds."""
        self._began = self._clock()
        return self._began

    def lap(self) -> None:
        """End a piece of work, and begin the next one."""
        now = self._clock()
        seconds = now - self._began
        self._began = now
        self.used += seconds
        self.left = max(self.left - seconds, -DEBT_SECONDS_MAX)
