"""What requests that wait may cost: each is kept whole until it is answered, which may be minutes.

The bounds on their numbers alone say nothing about memory: a frame holds 16 MiB, and what a
connection has in flight is bounded for it by itself, not for all together.
"""

from __future__ import annotations

from typing import Final

from gantrymq.base.limits import FRAME_BYTES_MAX
from gantrymq.broker.core.messages import Request
from gantrymq.remoting.limits import REQUEST_OVERHEAD_BYTES
from gantrymq.remoting.refusal import refusal
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command

# Real ones have no body, and a header of some hundred bytes: a filter of a thousand tags fits.
REQUEST_BYTES_MAX: Final = 64 << 10

# Of all that wait for the same: as many of ordinary size as their number allows.
TOTAL_BYTES_MAX: Final = 128 << 20

# Bodies of requests under way, mostly messages that wait for a replica: 80 MB/s where each waits
# for the 3 s of slaveTimeout.
# Beside them the messages of a batch are copies, so the memory may be twice as much.
BODIES_BYTES_MAX: Final = 256 << 20

# In a small container they take an eighth of its memory, a quarter with the copies.
BODIES_SHARE: Final = 8


def bodies_max(memory_bytes: int) -> int:
    """How many bytes of bodies may be under way at a time: at least one of any length."""
    return max(FRAME_BYTES_MAX, min(BODIES_BYTES_MAX, memory_bytes // BODIES_SHARE))


def no_room_for_bodies(held_bytes: int, held_bytes_max: int) -> Command:
    """The refusal of one more request with a body; its producer asks another broker at once."""
    return refusal(
        ResponseCode.SYSTEM_BUSY,
        "[OVERLOAD]system busy, start flow control for a while (messages that wait for the store or"
        f" for a replica hold {held_bytes} bytes of memory, {held_bytes_max} are allowed; see"
        " mqadmin haStatus for slow replicas, send less or add brokers)",
    )


def bytes_of(request: Request) -> int:
    command = request.command
    return max(REQUEST_OVERHEAD_BYTES, command.header_bytes) + len(command.body)


def too_long(request: Request) -> Command | None:
    """Why this one is answered rather than kept; None where it may wait."""
    size = bytes_of(request)
    if size <= REQUEST_BYTES_MAX:
        return None
    return refusal(
        ResponseCode.INVALID_PARAMETER,
        f"this request has {size} bytes, and would be kept until there are messages; at most"
        f" {REQUEST_BYTES_MAX} may wait: send it without a body and with a shorter filter, or with"
        " no time to wait",
    )
