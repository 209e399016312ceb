"""Declares the states of connections: of one channel, and of a dialer's path to one address.

The code runs for each read and each request, so it does not consult these tables. Their unit test
drives real channels and dialers through every row.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from gantrymq.base.transitions import Transition, Transitions


class ChannelState(Enum):
    """The state of one TCP connection."""

    CONNECTING = "no TCP connection yet"
    DETECTING = "a server with TLS waits for the first bytes"
    HANDSHAKE = "TLS is being established"
    OPEN = "requests and responses pass"
    DRAINING = "finishes requests in flight, accepts no new ones"
    CLOSING = "writes its last bytes"
    CLOSED = "the TCP connection is gone"


_C = ChannelState

CHANNEL_STATES: Final = Transitions(
    "channel",
    _C.CONNECTING,
    [
        Transition(_C.CONNECTING, "connected without TLS", _C.OPEN),
        Transition(_C.CONNECTING, "connected as TLS client", _C.HANDSHAKE),
        Transition(_C.CONNECTING, "accepted by TLS server", _C.DETECTING),
        Transition(_C.DETECTING, "plain bytes", _C.OPEN),
        Transition(_C.DETECTING, "TLS bytes", _C.HANDSHAKE),
        Transition(_C.DETECTING, "close", _C.CLOSING),
        Transition(_C.DETECTING, "connection lost", _C.CLOSED),
        Transition(_C.HANDSHAKE, "TLS established", _C.OPEN),
        Transition(_C.HANDSHAKE, "close", _C.CLOSING, "also after 10 s, or if TLS fails"),
        Transition(_C.HANDSHAKE, "connection lost", _C.CLOSED),
        Transition(_C.OPEN, "drain", _C.DRAINING),
        Transition(
            _C.OPEN,
            "close",
            _C.CLOSING,
            "also by the peer, by invalid frames, by silence, or if the peer reads too slowly",
        ),
        Transition(_C.OPEN, "connection lost", _C.CLOSED),
        Transition(_C.DRAINING, "last response written", _C.CLOSING),
        Transition(_C.DRAINING, "close", _C.CLOSING),
        Transition(_C.DRAINING, "connection lost", _C.CLOSED),
        Transition(_C.CLOSING, "connection lost", _C.CLOSED, "at the latest 5 s after the close"),
    ],
)


class DialState(Enum):
    """The state of the path to one address."""

    IDLE = "not connected"
    CONNECTING = "TCP or TLS is being established"
    CONNECTED = "requests use the channel"
    BACKING_OFF = "the last attempt failed: requests fail at once"


_D = DialState

DIAL_STATES: Final = Transitions(
    "outgoing connection",
    _D.IDLE,
    [
        Transition(_D.IDLE, "request", _D.CONNECTING),
        Transition(_D.CONNECTING, "connected", _D.CONNECTED, "all waiting requests are sent"),
        Transition(_D.CONNECTING, "failed", _D.BACKING_OFF, "all waiting requests fail"),
        Transition(_D.CONNECTING, "close", _D.IDLE, "all waiting requests fail"),
        Transition(_D.CONNECTED, "close", _D.IDLE, "requests in flight fail"),
        Transition(_D.CONNECTED, "channel closed", _D.IDLE, "requests in flight fail"),
        Transition(_D.BACKING_OFF, "request", _D.BACKING_OFF, "the request fails"),
        Transition(_D.BACKING_OFF, "pause over", _D.IDLE, "0.1 s at first, 5 s at most"),
    ],
)
