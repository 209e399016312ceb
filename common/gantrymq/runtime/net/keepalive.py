"""Lets the system detect a dead peer, whether or not data was sent to it.

If frames vanish without notice (a machine loses power, a network is cut), an idle connection looks
healthy for ever: a consumer whose pull is held would wait for its next heartbeat. So the system
probes an idle peer, and ends a connection after NOTICED_SECONDS without a sign of the peer, or
without its acknowledgement of sent data. The limit is not shorter, because it also ends connections
to a live peer whose receive buffer stays full for so long.
"""

from __future__ import annotations

import socket
from typing import Final, Protocol

NOTICED_SECONDS: Final = 10
IDLE_SECONDS: Final = 3
ASK_AGAIN_SECONDS: Final = 1
QUESTIONS: Final = (NOTICED_SECONDS - IDLE_SECONDS) // ASK_AGAIN_SECONDS

# By name: systems other than Linux lack some of them. Where TCP_USER_TIMEOUT exists, it decides
# for idle peers too, not the number of probes.
_TCP: Final = {
    "TCP_KEEPIDLE": IDLE_SECONDS,
    "TCP_KEEPINTVL": ASK_AGAIN_SECONDS,
    "TCP_KEEPCNT": QUESTIONS,
    "TCP_USER_TIMEOUT": NOTICED_SECONDS * 1000,
}


class Settable(Protocol):
    """A socket, or the object that an event loop gives for one."""

    def setsockopt(self, level: int, name: int, value: int, /) -> None: ...


def notice_silence(connection: Settable) -> None:
    """Configure this socket so that a dead peer is detected within NOTICED_SECONDS."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _TCP.items():
        option = getattr(socket, name, None)
        if option is not None:
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
