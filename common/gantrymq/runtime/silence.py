"""A peer that fell silent is noticed by the system, whether requests are under way or not.

Where frames vanish and nobody says so (a machine without power, a network that is cut), a
connection on which nothing is sent looks well for ever: a consumer whose pull is held would wait
for its next heartbeat. So the system asks an idle peer whether it is there, and gives a connection
up when what it sent is not acknowledged for as long. A process that is stopped is none of these:
its system answers.
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
    "TCP_USER_TIMEOUT": NOTICED_SECONDS * 1000,
}


class Settable(Protocol):
    """A socket, or what an event loop gives for one."""

    def setsockopt(self, level: int, name: int, value: int, /) -> None: ...


def notice_silence(connection: Settable) -> None:
    """Of this connection, within NOTICED_SECONDS."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _TCP.items():
        option = getattr(socket, name, None)
        if option is not None:
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
