"""Decides what the answer to a bulk send means: stored, to be sent again, or an error for good."""

from __future__ import annotations

from enum import Enum
from typing import Final

from gantrymq.wire.codes import ResponseCode


class Verdict(Enum):
    """What becomes of a request."""

    STORED = "the broker has the messages, as safe as it promises"
    AGAIN = "send it again, and all that was sent behind it"
    REFUSED = "sending it again is of no use"


# Stored, but not yet as safe as the broker is set to make it.
_UNSAFE: Final = frozenset(
    {
        ResponseCode.FLUSH_DISK_TIMEOUT,
        ResponseCode.FLUSH_SLAVE_TIMEOUT,
        ResponseCode.SLAVE_NOT_AVAILABLE,
    }
)
_REFUSALS: Final = frozenset(
    {
        ResponseCode.MESSAGE_ILLEGAL,
        ResponseCode.INVALID_PARAMETER,
        ResponseCode.NO_PERMISSION,
        ResponseCode.REQUEST_CODE_NOT_SUPPORTED,
        ResponseCode.VERSION_NOT_SUPPORTED,
        ResponseCode.GANTRY_SESSION_FENCED,
    }
)


def judge(code: int, *, is_idempotent: bool, is_first_of_lane: bool) -> Verdict:
    """A session's messages are sent again until they are safe, which costs nothing. Those of none
    are stored once more by each try, so here, as for other producers, stored is enough.

    A request that does not continue its session waits for the one before it, which is on its way;
    where there is none, the broker lost or forgot what it had acknowledged.
    """
    if code == ResponseCode.SUCCESS:
        return Verdict.STORED
    if code in _UNSAFE:
        return Verdict.AGAIN if is_idempotent else Verdict.STORED
    if code == ResponseCode.GANTRY_SESSION_OUT_OF_SEQUENCE:
        return Verdict.REFUSED if is_first_of_lane else Verdict.AGAIN
    return Verdict.REFUSED if code in _REFUSALS else Verdict.AGAIN
