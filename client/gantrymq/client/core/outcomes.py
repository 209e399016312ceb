"""What a listener says of the messages it was given.

    concurrent   None, SUCCESS     they are consumed
                 LATER             all again later: after 10 s, 30 s, 1 min … up to 16 times, then
                                   they are dead letters
                 Later(level=4)    again after that delay level; -1 makes them dead letters now
                 Later(done=3)     the first three are consumed, the others come again
    orderly      None, SUCCESS     they are consumed
                 SUSPEND           the same again after a second, the queue waits for them
                 Suspend(5.0)      the same again after five
                 COMMIT, ROLLBACK  with auto_commit=False: all since the last of these is consumed,
                                   or comes again after a pause

Both know an exception as well: it is LATER, or SUSPEND.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias, final

from gantrymq.wire.jsonvalue import INT32_MAX

# The level of what is not to come again.
DEAD_LETTER: Final = -1


class Verdict(Enum):
    """The outcomes that say all by their name."""

    SUCCESS = "SUCCESS"
    COMMIT = "COMMIT"
    ROLLBACK = "ROLLBACK"


@final
@dataclass(frozen=True, slots=True)
class Later:
    """Not now: the broker brings them again."""

    level: int = 0
    """A delay level; 0 lets the broker choose by how often it was tried, -1 is a dead letter."""
    done: int = 0
    """How many of the first ones are consumed all the same."""

    def __post_init__(self) -> None:
        if not all(isinstance(number, int) for number in (self.level, self.done)):
            raise TypeError(f"{self}: a delay level and a count are whole numbers")
        if not (DEAD_LETTER <= self.level <= INT32_MAX and self.done >= 0):
            raise ValueError(
                f"{self}: a delay level is a number of 32 bits from {DEAD_LETTER} on, a count one"
                " from 0 on"
            )


@final
@dataclass(frozen=True, slots=True)
class Suspend:
    """Not now: the queue waits."""

    seconds: float | None = None
    """None: the consumer's `suspend_s`."""

    def __post_init__(self) -> None:
        if self.seconds is not None and not self.seconds >= 0:
            raise ValueError(f"{self}: for how many seconds is a number from 0 on, or None")


SUCCESS: Final = Verdict.SUCCESS
COMMIT: Final = Verdict.COMMIT
ROLLBACK: Final = Verdict.ROLLBACK
LATER: Final = Later()
SUSPEND: Final = Suspend()

Outcome: TypeAlias = Verdict | Later | Suspend | None
