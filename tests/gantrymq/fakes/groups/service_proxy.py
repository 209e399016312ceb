"""A Service of the small Kubernetes API: one address that leads to the endpoint of its slice.

As kube-proxy does it: where a connection leads is decided when it begins, and it stays there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from gantrymq.fakes.groups.kube_objects import Object

PIECE_BYTES = 1 << 16

CONNECT_SECONDS = 3.0
"""Longer no client waits for a connection. What is sent meanwhile must not arrive minutes later,
when its sender has long given up."""


class ServiceProxy:
    """`start`, then `stop`."""

    def __init__(self, slice_of: Callable[[], Object | None]) -> None:
        """`slice_of`: the EndpointSlice as it is now."""
        self._server: asyncio.Server | None = None
        self._slice_of = slice_of

    async def start(self, port: int, host: str = "127.0.0.1") -> None:
        self._server = await asyncio.start_server(self._serve, host, port)

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()

    def _endpoint(self) -> tuple[str, int] | None:
        content = self._slice_of()
        if content is None:
            return None
        ports = {each["name"]: each["port"] for each in content["ports"]}
        return content["endpoints"][0]["addresses"][0], ports["broker"]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        endpoint = self._endpoint()
        try:
            if endpoint is None:
                return
            async with asyncio.timeout(CONNECT_SECONDS):
                theirs, ours = await asyncio.open_connection(*endpoint)
            await asyncio.gather(_pipe(reader, ours), _pipe(theirs, writer))
        except OSError:
            return
        finally:
            writer.close()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(PIECE_BYTES):
            writer.write(data)
            await writer.drain()
    writer.close()
