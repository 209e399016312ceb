"""Sockets that listen.

`::` is every address of this machine, of either kind, as it is to Java. asyncio's sockets take
IPv6 alone there, so IPv4 gets one of its own beside it: its clients keep their IPv4 addresses,
which one socket for both would dress up as IPv6.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

ANY_V6: Final = "::"
ANY_V4: Final = "0.0.0.0"


async def listen(
    make: Callable[[], asyncio.BaseProtocol], host: str, port: int, *, backlog: int = 100
) -> list[asyncio.Server]:
    """On one address, or on all of them; OSError, and none listens. Port 0 lets the system
    choose."""
    loop = asyncio.get_running_loop()
    first = await loop.create_server(make, host.strip("[]") or None, port, backlog=backlog)
    if host.strip("[]") != ANY_V6:
        return [first]
    chosen = first.sockets[0].getsockname()[1]
    try:
        return [first, await loop.create_server(make, ANY_V4, chosen, backlog=backlog)]
    except OSError:
        first.close()
        raise
