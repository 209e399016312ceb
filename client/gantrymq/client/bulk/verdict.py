"""Decides what the response to a bulk send means: stored, retry, or a permanent error."""

from __future__ import annotations

from enum import Enum
from typing import Final

from gantrymq.wire.codes import ResponseCode


class Verdict(Enum):
    """The decision about one request."""

    STORED = "the broker has the messages, as durably as it promises"
    AGAIN = "send it again, and all requests after it"
    REFUSED = "a retry is of no use"


# Stored, but not yet as durably as the broker is configured.
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
    """Decide by the response code. Messages of a session are sent again until they are durable,
    because the broker stores them only once. Without a session each attempt stores them again, so
    stored is enough, as for other producers.

    A request that does not continue its session waits for the request before it, which is in
    flight. If there is none, the broker has lost messages that it had acknowledged.
    """
    if code == ResponseCode.SUCCESS:
        return Verdict.STORED
    if code in _UNSAFE:
        return Verdict.AGAIN if is_idempotent else Verdict.STORED
    if code == ResponseCode.GANTRY_SESSION_OUT_OF_SEQUENCE:
        return Verdict.REFUSED if is_first_of_lane else Verdict.AGAIN
    return Verdict.REFUSED if code in _REFUSALS else Verdict.AGAIN
