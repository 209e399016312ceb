"""Opens listening sockets for IPv4 and IPv6.

`::` means every address of this machine, IPv4 and IPv6, as in Java. There asyncio's sockets take
IPv6 only, so a second socket takes IPv4. This way IPv4 clients keep their addresses, which a
dual-stack socket would show as IPv6.
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
    """Listen on one address, or on all; raises OSError and leaves nothing open if that fails.

    With port 0 the system chooses the port.
    """
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
