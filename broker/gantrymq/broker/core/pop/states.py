"""Lists the states of a message in flight: from its pop to its acknowledgement or its retry copy.

`InFlightMessages` and `Revival` move messages between these states without asking the table,
because that happens for each message. A test drives them through every row. An event without a row
in a state changes nothing.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from gantrymq.base.transitions import Transition, Transitions


class InFlightState(Enum):
    """Where a message is that a consumer has popped."""

    INVISIBLE = "the consumer may acknowledge it; other consumers do not see it"
    DUE = "its invisible time is over, and a copy for the retry topic is being made"
    COPIED = "its copy is in the log and not yet known to be on disk"
    ENDED = "it is no longer in flight"


_S: Final = InFlightState

IN_FLIGHT_MESSAGE: Final = Transitions(
    "message in flight",
    _S.INVISIBLE,
    [
        Transition(_S.INVISIBLE, "it is acknowledged", _S.ENDED),
        Transition(
            _S.INVISIBLE, "the consumer changes its time", _S.INVISIBLE, "it has a new handle"
        ),
        Transition(_S.INVISIBLE, "its time is up", _S.DUE, "no acknowledgement counts any more"),
        Transition(_S.INVISIBLE, "the offset is reset", _S.ENDED, "the group pops it again"),
        Transition(_S.INVISIBLE, "its topic is deleted", _S.ENDED),
        Transition(_S.DUE, "the copy is appended", _S.COPIED),
        Transition(_S.DUE, "the copy is refused", _S.INVISIBLE, "for 5 minutes, with a warning"),
        Transition(_S.DUE, "the read fails", _S.INVISIBLE, "for 5 s, with a warning"),
        Transition(_S.DUE, "the round is full", _S.INVISIBLE, "it is due in the next round"),
        Transition(_S.DUE, "the log has lost it", _S.COPIED, "a warning; there is no copy"),
        Transition(_S.DUE, "the offset is reset", _S.ENDED, "the group pops it again"),
        Transition(_S.DUE, "its topic is deleted", _S.ENDED),
        Transition(_S.COPIED, "the log is flushed", _S.ENDED, "the copy is popped instead"),
        Transition(_S.COPIED, "the offset is reset", _S.ENDED, "the group pops it again"),
        Transition(_S.COPIED, "its topic is deleted", _S.ENDED),
    ],
)
