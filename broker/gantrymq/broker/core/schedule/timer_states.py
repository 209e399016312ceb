"""Lists the states of a timer message: from the timer queue to its delivery.

`TimerService` moves messages between these states without asking the table, because that happens
for each message. A test drives it through every row. An event without a row in a state changes
nothing.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from gantrymq.base.transitions import Transition, Transitions


class TimerState(Enum):
    """Where a timer message is on its way to its topic."""

    STORED = "it is in the timer queue, and the service has not read it yet"
    WAITING = "it is in the calendar, at its second"
    ROLLING = "it will be written again at the end of the timer queue"
    DELIVERING = "its second has passed"
    DELIVERED = "it is in its own topic"
    RECALLED = "a recall message took it back"
    LOST = "it cannot be read or stored, and is counted as lost"


_S: Final = TimerState

TIMER_MESSAGE: Final = Transitions(
    "timer message",
    _S.STORED,
    [
        Transition(_S.STORED, "the service reads it", _S.WAITING),
        Transition(_S.STORED, "the service finds it damaged", _S.LOST, "with a warning"),
        Transition(_S.WAITING, "its second passes", _S.DELIVERING),
        Transition(
            _S.WAITING,
            "the log will delete it soon",
            _S.ROLLING,
            "unless it is due within 5 minutes",
        ),
        Transition(_S.ROLLING, "its copy is stored", _S.STORED, "the copy takes its place"),
        Transition(_S.ROLLING, "the read fails", _S.ROLLING, "the next try is in 10 s"),
        Transition(_S.ROLLING, "the log has lost it", _S.LOST, "with a warning"),
        Transition(_S.ROLLING, "the store refuses it", _S.LOST, "with a warning"),
        Transition(_S.DELIVERING, "its copy is stored", _S.DELIVERED),
        Transition(_S.DELIVERING, "a recall names it", _S.RECALLED),
        Transition(_S.DELIVERING, "the read fails", _S.DELIVERING, "the next try is in 10 s"),
        Transition(_S.DELIVERING, "the log has lost it", _S.LOST, "with a warning"),
        Transition(_S.DELIVERING, "the store refuses it", _S.LOST, "with a warning"),
    ],
)
