"""Makes refusals: the responses of a server before or instead of a request's own handler.

RocketMQ's clients show the remark verbatim and people search for its prefixes, so each text begins
as RocketMQ's does; Gantry's additions follow.
"""

from __future__ import annotations

from typing import Final

from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command

# A remark ends up in a log line and in the header of a frame, so an exception's text that quotes a
# whole request must not fill either. Java's longest texts are a few hundred characters.
REMARK_CHARACTERS_MAX: Final = 2048


def refusal(code: int, remark: str) -> Command:
    """A response with this error code; its remark is cut to the bound."""
    return Command(code, remark=clip(remark))


def clip(remark: str) -> str:
    if len(remark) <= REMARK_CHARACTERS_MAX:
        return remark
    return remark[: REMARK_CHARACTERS_MAX - 1] + "…"


def not_supported(code: int) -> Command:
    """No handler serves this request code. The leading space is Java's."""
    return refusal(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, f" request type {code} not supported")


def failed(text: str) -> Command:
    """The handler failed; Java puts the exception's text here as well."""
    return refusal(ResponseCode.SYSTEM_ERROR, text)


def overloaded(stage: str, delay_ms: int) -> Command:
    """Admission control refused the request: requests wait too long at `stage`."""
    return refusal(
        ResponseCode.SYSTEM_BUSY,
        "[OVERLOAD]system busy, start flow control for a while"
        f" ({stage} takes {delay_ms} ms; send less or add brokers)",
    )


def rejected(cause: str) -> Command:
    """This kind of request is not accepted for the moment, from any client."""
    return refusal(
        ResponseCode.SYSTEM_BUSY,
        f"[REJECTREQUEST]system busy, start flow control for a while ({cause})",
    )


def going_away() -> Command:
    """The server shuts down: clients from 5.3.2 on reconnect elsewhere and send again."""
    return refusal(ResponseCode.GO_AWAY, "please go away: this server is shutting down")
