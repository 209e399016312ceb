"""Lists the states of a pull that the broker holds because it found no message.

`PullRequestHold` moves its pulls between these states without asking the table, because that
happens for each message. A test drives it through every row. An event without a row in a state
changes nothing.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from gantrymq.base.transitions import Transition, Transitions


class HeldPullState(Enum):
    """Where a held pull is on its way to an answer."""

    WAITING = "no message has arrived and its time is not up"
    WOKEN = "it will be read in this turn or one of the next"
    READING = "a read waits for the disk"
    READING_AND_WOKEN = "a read waits for the disk, and something has happened since it began"
    ANSWERED = "the consumer has its answer"
    RELEASED = "there is no connection to answer on"


_S: Final = HeldPullState

HELD_PULL: Final = Transitions(
    "held pull",
    _S.WAITING,
    [
        Transition(_S.WAITING, "a message arrives", _S.WOKEN),
        Transition(_S.WAITING, "its time is up", _S.WOKEN),
        Transition(_S.WAITING, "the connection closes", _S.RELEASED),
        Transition(_S.WOKEN, "the read has an answer", _S.ANSWERED, "messages, or the end of time"),
        Transition(
            _S.WOKEN,
            "the read finds nothing",
            _S.WAITING,
            "for 5 s at most if the filter matched none of the messages",
        ),
        Transition(_S.WOKEN, "the read needs the disk", _S.READING),
        Transition(_S.WOKEN, "the read fails", _S.ANSWERED, "with the error"),
        Transition(_S.WOKEN, "a check refuses it", _S.ANSWERED, "with the refusal"),
        Transition(
            _S.WOKEN, "the subscription differs", _S.ANSWERED, "empty; the consumer pulls again"
        ),
        Transition(_S.WOKEN, "the connection closes", _S.RELEASED),
        Transition(_S.READING, "a message arrives", _S.READING_AND_WOKEN),
        Transition(_S.READING, "its time is up", _S.READING_AND_WOKEN),
        Transition(_S.READING, "the read has an answer", _S.ANSWERED),
        Transition(_S.READING, "the read finds nothing", _S.WAITING),
        Transition(_S.READING, "the read fails", _S.ANSWERED, "with the error"),
        Transition(_S.READING, "the connection closes", _S.RELEASED),
        Transition(_S.READING_AND_WOKEN, "the read has an answer", _S.ANSWERED),
        Transition(_S.READING_AND_WOKEN, "the read finds nothing", _S.WOKEN, "it is read again"),
        Transition(_S.READING_AND_WOKEN, "the read fails", _S.ANSWERED, "with the error"),
        Transition(_S.READING_AND_WOKEN, "the connection closes", _S.RELEASED),
    ],
)
