"""Bounds the memory and time that one connection may cost, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Final

from gantrymq.base.bounds import FRAME_BYTES_MAX, HEADER_BYTES_MAX

# The memory of an unanswered request besides its body: the command, its strings and its map.
REQUEST_OVERHEAD_BYTES: Final = 1024


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """The bounds of one `Session`."""

    frame_bytes_max: int = FRAME_BYTES_MAX
    """A longer frame ends the connection before its bytes arrive; 16 MiB as in Java. No longer
    frame is sent either, because peers have the same limit."""

    header_bytes_max: int = HEADER_BYTES_MAX
    """A longer header ends the connection too: a header becomes many small objects."""

    requests_out_max: int = 65_535
    """Sent requests that wait for their response; Java's clientAsyncSemaphoreValue."""

    requests_in_max: int = 65_535
    """Unanswered requests of the peer at which reading stops. No honest Java client has more in
    flight, and held pulls of thousands of queues share a connection with heartbeats."""

    bytes_in_max: int = 64 * 1024 * 1024
    """The memory of those requests at which reading stops: four of the largest frames."""

    bytes_out_max: int = 64 * 1024 * 1024
    """Unread output beyond which the peer is disconnected: four of the largest frames, enough for a
    client that pipelines a dozen full pulls over a slow link."""

    frame_seconds: float = 10.0
    """Time for a frame to complete, from its first byte, before its size adds to the time."""

    frame_bytes_per_second_min: int = 16 * 1024
    """The rate that adds time: each received byte adds 1/16384 s. A link slower than this cannot
    meet RocketMQ's own timeouts of 3 s; a slow-loris attack is slower."""

    idle_seconds: float = 120.0
    """Time without traffic in either direction that ends the connection:
    serverChannelMaxIdleTimeSeconds, four times the 30 s between a client's heartbeats."""

    silence_seconds: float = inf
    """A sent request that times out after at least this long, with nothing received meanwhile, ends
    the connection. For clients only: servers tolerate clients that do not respond."""
