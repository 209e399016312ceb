"""A peer that fell silent is noticed by the system, whether something was sent to it or not.

Where frames vanish and nobody says so (a machine without power, a network that is cut), a
connection on which nothing is sent looks well for ever: a consumer whose pull is held would wait
for its next heartbeat. So the system asks an idle peer whether it is there, and gives a connection
up after NOTICED_SECONDS without a sign of it, or without its acknowledgement of what was sent. No
sooner: a peer that is there, and has had no room for more for so long, is given up as well.
"""

from __future__ import annotations

import socket
from typing import Final, Protocol

NOTICED_SECONDS: Final = 10
IDLE_SECONDS: Final = 3
ASK_AGAIN_SECONDS: Final = 1
QUESTIONS: Final = (NOTICED_SECONDS - IDLE_SECONDS) // ASK_AGAIN_SECONDS

# By name: other systems than Linux lack some of them, and do without. Where there is a
# TCP_USER_TIMEOUT, it and not the number of questions decides for idle peers too.
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
