"""Answers every frame with the same bytes on Gantry's event loop: the lower bound for brokers.

Run with a port and a file that holds the answer.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import cast

import uvloop


class Answers(asyncio.Protocol):
    """Counts whole frames by their length words; the load program sends only whole frames."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._unread = b""
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transport is no subclass
        self._transport = cast("asyncio.WriteTransport", transport)

    def data_received(self, data: bytes) -> None:
        data = self._unread + data if self._unread else data
        at = count = 0
        while at + 4 <= len(data):
            end = at + 4 + int.from_bytes(data[at : at + 4], "big")
            if end > len(data):
                break
            at = end
            count += 1
        self._unread = data[at:]
        assert self._transport is not None
        self._transport.write(self._answer * count)


async def serve(port: int, answer: bytes) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Answers(answer), "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1]), Path(sys.argv[2]).read_bytes()))
