"""What one connection may cost us: each number bounds memory or time, and has its reason."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Final

from gantrymq.base.limits import FRAME_BYTES_MAX, HEADER_BYTES_MAX

# What an unanswered request weighs besides its body: the command, its strings and its map.
REQUEST_OVERHEAD_BYTES: Final = 1024


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """The bounds of one `Session`."""

    frame_bytes_max: int = FRAME_BYTES_MAX
    """A longer frame ends the connection before its bytes are awaited; 16 MiB as in Java. Peers do
    the same to us, so none is sent either."""

    header_bytes_max: int = HEADER_BYTES_MAX
    """A longer header ends the connection too: a header becomes many small objects."""

    requests_out_max: int = 65_535
    """Our requests that wait for their response; Java's clientAsyncSemaphoreValue."""

    requests_in_max: int = 65_535
    """The peer's unanswered requests, beyond which we stop reading. No honest Java client has more
    on the way, and parked pulls of thousands of queues share one connection with its heartbeats."""

    bytes_in_max: int = 64 * 1024 * 1024
    """The weight of those requests, beyond which we stop reading: four of the largest frames."""

    bytes_out_max: int = 64 * 1024 * 1024
    """Output the peer does not take, beyond which it is disconnected: four of the largest frames,
    so that a client that pipelined a dozen full pulls over a slow link is left in peace."""

    frame_seconds: float = 10.0
    """Time for a frame to complete, from its first byte, before its size earns it more."""

    frame_bytes_per_second_min: int = 16 * 1024
    """The pace that earns more time: each byte that came buys 1/16384 s. A link slower than this
    cannot carry RocketMQ's own 3 s timeouts; a slow-loris trickling bytes is slower."""

    idle_seconds: float = 120.0
    """Silence of the peer, with no request of ours either, that ends the connection:
    serverChannelMaxIdleTimeSeconds, four times the 30 s between a client's heartbeats."""

    silence_seconds: float = inf
    """A request of ours that waited at least so long for nothing, and nothing else came meanwhile
    either, ends the connection. For clients: servers bear with clients that do not answer."""
