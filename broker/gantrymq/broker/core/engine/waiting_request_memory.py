"""Limits the memory of requests that wait for messages.

A held request is kept whole until it is answered, possibly for minutes. A limit on the number of
requests does not bound their memory, because a frame may have 16 MiB. So their sizes are charged to
the broker's memory account, which has the limit.
"""

from __future__ import annotations

from typing import Final

from gantrymq.broker.core.messages import Request
from gantrymq.remoting.limits import REQUEST_OVERHEAD_BYTES
from gantrymq.remoting.refusal import refusal
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command

# Requests of clients have no body and a header of some hundred bytes; a filter of a thousand tags
# fits as well.
REQUEST_BYTES_MAX: Final = 64 << 10

# Shorter headers are not charged. Ordinary headers have some hundred bytes, and the number of
# requests under way is limited, so charging them would cost more than it helps.
HEADER_BYTES_FREE: Final = 4096


def no_room_for_bodies(why: str) -> Command:
    """The refusal of a request with a body; the producer then tries another broker at once."""
    return no_room(f"{why}; see mqadmin haStatus for slow replicas, send less or add brokers")


def no_room(why: str) -> Command:
    """The refusal of a request whose data would exceed the memory limit."""
    return refusal(
        ResponseCode.SYSTEM_BUSY,
        f"[OVERLOAD]system busy, start flow control for a while ({why})",
    )


def bytes_of(request: Request) -> int:
    command = request.command
    return max(REQUEST_OVERHEAD_BYTES, command.header_bytes) + len(command.body)


def kept_of(request: Request) -> int:
    """The bytes charged for a request that is carried out: its body, and its header if it is
    long."""
    command = request.command
    header_bytes = command.header_bytes
    body_bytes = len(command.body)
    return body_bytes if header_bytes <= HEADER_BYTES_FREE else body_bytes + header_bytes


def too_long(request: Request) -> Command | None:
    """The refusal of a request that is too long to be held; None if it may wait."""
    size = bytes_of(request)
    if size <= REQUEST_BYTES_MAX:
        return None
    return refusal(
        ResponseCode.INVALID_PARAMETER,
        f"this request has {size} bytes, and would be kept until there are messages; at most"
        f" {REQUEST_BYTES_MAX} may wait: send it without a body and with a shorter filter, or with"
        " no time to wait",
    )
