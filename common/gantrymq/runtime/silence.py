"""A peer that fell silent is noticed by the system where nobody waits for an answer of it.

Where frames vanish and nobody says so (a machine without power, a network that is cut), a
connection on which nothing is sent looks well for ever: a consumer whose pull is held would wait
for its next heartbeat. So the system asks an idle peer whether it is there, and gives a connection
up that had no sign of it for NOTICED_SECONDS. Where something was sent, whoever sent it has a time
within which it wants an answer. The system is told no such time (TCP_USER_TIMEOUT): it would give
up peers as well that are there, and only take nothing for a while because they have too much.
"""

from __future__ import annotations

import socket
from typing import Final, Protocol

IDLE_SECONDS: Final = 3
ASK_AGAIN_SECONDS: Final = 1
QUESTIONS: Final = 3
NOTICED_SECONDS: Final = IDLE_SECONDS + QUESTIONS * ASK_AGAIN_SECONDS

# By name: other systems than Linux lack some of them, and do without.
_TCP: Final = {
    "TCP_KEEPIDLE": IDLE_SECONDS,
    "TCP_KEEPINTVL": ASK_AGAIN_SECONDS,
    "TCP_KEEPCNT": QUESTIONS,
}


class Settable(Protocol):
    """A socket, or what an event loop gives for one."""

    def setsockopt(self, level: int, name: int, value: int, /) -> None: ...


def notice_silence(connection: Settable) -> None:
    """Of this connection."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _TCP.items():
        option = getattr(socket, name, None)
        if option is not None:
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
