"""Tests which addresses a server listens on, and that it listens on none if a port is taken."""

from __future__ import annotations

import asyncio
import socket

import pytest

from gantrymq.runtime.net.listening import listen

ADDRESSES = {
    "::": {"127.0.0.1", "::1"},
    "[::]": {"127.0.0.1", "::1"},
    "0.0.0.0": {"127.0.0.1"},
    "127.0.0.1": {"127.0.0.1"},
    "::1": {"::1"},
}


async def reached(port: int) -> set[str]:
    """An address at which a server answers and sees this client's address."""
    found = set()
    for host in ("127.0.0.1", "::1"):
        try:
            reader, writer = await asyncio.open_connection(host, port)
        except OSError:
            continue
        assert await reader.read() == host.encode()
        writer.close()
        found.add(host)
    return found


class Greeter(asyncio.Protocol):
    """Records the peer."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert hasattr(transport, "write")  # uvloop's are no subclasses of asyncio's
        transport.write(transport.get_extra_info("peername")[0].encode())
        transport.close()


@pytest.mark.parametrize("host", ADDRESSES)
async def test_listening_addresses(host: str) -> None:
    servers = await listen(Greeter, host, 0)
    port = servers[0].sockets[0].getsockname()[1]
    assert await reached(port) == ADDRESSES[host]
    for server in servers:
        server.close()


async def test_neither_family_listens_if_one_port_is_taken() -> None:
    with socket.create_server(("0.0.0.0", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match="in use"):
            await listen(Greeter, "::", port)
    (again,) = await listen(Greeter, "::1", port)  # the first half was given back
    again.close()
