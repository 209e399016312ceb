"""Defines the outcomes that a listener returns for the messages it received.

    concurrent   None, SUCCESS     all are consumed
                 LATER             all are redelivered: after 10 s, 30 s, 1 min … up to 16 times,
                                   then they become dead letters
                 Later(level=4)    all are redelivered after that delay level; -1 makes them dead
                                   letters now
                 Later(done=3)     the first three are consumed, the rest is redelivered
    orderly      None, SUCCESS     all are consumed
                 SUSPEND           the same messages again after a second; the queue waits
                 Suspend(5.0)      the same messages again after five seconds
                 COMMIT, ROLLBACK  with auto_commit=False: everything since the last of these is
                                   consumed, or delivered again after a pause

An exception counts as LATER or SUSPEND.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias, final

from gantrymq.base.bounds import INT_MAX

# The delay level that makes a message a dead letter.
DEAD_LETTER: Final = -1


class Verdict(Enum):
    """The outcomes without parameters."""

    SUCCESS = "SUCCESS"
    COMMIT = "COMMIT"
    ROLLBACK = "ROLLBACK"


@final
@dataclass(frozen=True, slots=True)
class Later:
    """The messages failed; the broker redelivers them."""

    level: int = 0
    """A delay level; 0 lets the broker choose by the number of retries, -1 makes dead letters."""
    done: int = 0
    """How many of the first messages are consumed nevertheless."""

    def __post_init__(self) -> None:
        if not all(isinstance(number, int) for number in (self.level, self.done)):
            raise TypeError(f"{self}: a delay level and a count are whole numbers")
        if not (DEAD_LETTER <= self.level <= INT_MAX and self.done >= 0):
            raise ValueError(
                f"{self}: a delay level is a number of 32 bits from {DEAD_LETTER} on, a count one"
                " from 0 on"
            )


@final
@dataclass(frozen=True, slots=True)
class Suspend:
    """The messages failed; the queue waits and delivers them again."""

    seconds: float | None = None
    """The pause; None: the consumer's `suspend_s`."""

    def __post_init__(self) -> None:
        if self.seconds is not None and not self.seconds >= 0:
            raise ValueError(f"{self}: for how many seconds is a number from 0 on, or None")


SUCCESS: Final = Verdict.SUCCESS
COMMIT: Final = Verdict.COMMIT
ROLLBACK: Final = Verdict.ROLLBACK
LATER: Final = Later()
SUSPEND: Final = Suspend()

Outcome: TypeAlias = Verdict | Later | Suspend | None
