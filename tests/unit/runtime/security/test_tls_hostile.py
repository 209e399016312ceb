"""Tests hostile peers of a TLS listener: garbage, unfinished handshakes, and their cost."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable

import pytest

from gantrymq.base.memory_account import Kind, MemoryAccount
from gantrymq.fakes.connections import Echo
from gantrymq.remoting.events import Reason
from gantrymq.runtime.clock import VirtualClock
from gantrymq.runtime.net.net import Server
from gantrymq.runtime.security.certificates import (
    ClientTls,
    ServerContexts,
    ServerTls,
    TlsMode,
    client_context,
)
from gantrymq.runtime.security.tls import TlsTransport, TlsTransportError, TlsTransportState
from gantrymq.wire.command import Command
from gantrymq.wire.frames import encode

StartServer = Callable[..., Awaitable[Server]]


GARBAGE_RECORD = b"\x17\x03\x03\x00\x20" + bytes(32)


@pytest.mark.parametrize(
    ("garbage", "reason"),
    [
        (b"\x16\x03\x01\x00\x10" + b"\xee" * 16, Reason.HANDSHAKE_FAILED),
        (b"\x16" * 40, Reason.HANDSHAKE_FAILED),
        (b"GET / HTTP/1.1\r\n\r\n", Reason.GARBAGE),
    ],
    ids=["record", "bytes", "http"],
)
async def test_garbage_ends_the_connection(
    garbage: bytes, reason: Reason, start_server: StartServer
) -> None:
    echo = Echo()
    server = await start_server(echo, tls=ServerContexts(ServerTls()))
    _, writer = await asyncio.open_connection(*server.addresses["internal"])
    writer.write(garbage)

    assert await echo.closings.get() is reason
    assert server.counters.closed["internal", reason] == 1
    writer.transport.abort()


async def client_of(
    server: Server,
) -> tuple[TlsTransport, asyncio.StreamReader, asyncio.StreamWriter]:
    """A client whose handshake is complete."""
    reader, writer = await asyncio.open_connection(*server.addresses["internal"])
    transport = TlsTransport.of_client(client_context(ClientTls()))
    writer.write(transport.take_output())
    while transport.state is not TlsTransportState.OPEN:
        transport.receive(await reader.read(65_536))
    return transport, reader, writer


async def test_garbage_after_the_handshake_ends_the_connection(
    start_server: StartServer,
) -> None:
    echo = Echo()
    server = await start_server(echo, tls=ServerContexts(ServerTls()))
    transport, _, writer = await client_of(server)
    writer.write(transport.take_output() + GARBAGE_RECORD)

    assert await echo.closings.get() is Reason.GARBAGE
    writer.transport.abort()


async def test_garbage_ends_a_connection_that_has_answers_to_come(
    start_server: StartServer,
) -> None:
    """The responses cannot be encrypted any more: TLS has ended, and the client has got an
    alert."""
    echo = Echo()
    server = await start_server(echo, tls=ServerContexts(ServerTls()))
    transport, reader, writer = await client_of(server)
    writer.write(b"".join(transport.encrypt([encode(Command(1))])))
    await reader.read(65_536)  # the response, after the rest of the handshake
    (channel,) = server.channels
    channel.notify(Command(2))
    channel.data_received(GARBAGE_RECORD)
    assert await echo.closings.get() is Reason.GARBAGE
    assert await reader.read() != b""  # the alert
    writer.transport.abort()


async def test_a_handshake_has_a_deadline_from_its_first_byte(start_server: StartServer) -> None:
    echo = Echo()
    clock = VirtualClock()
    server = await start_server(echo, tls=ServerContexts(ServerTls()), clock=clock)
    _, writer = await asyncio.open_connection(*server.addresses["internal"])
    clock.advance(100.0)
    writer.write(TlsTransport.of_client(client_context(ClientTls())).take_output()[:50])
    while not any(channel.bytes_in for channel in server.channels):  # noqa: ASYNC110
        await asyncio.sleep(0)

    clock.advance(9.9)
    server.deadline_timer.expire_due(clock.monotonic())
    assert echo.closings.empty()
    clock.advance(0.2)
    server.deadline_timer.expire_due(clock.monotonic())

    assert await echo.closings.get() is Reason.HANDSHAKE_SLOW
    writer.transport.abort()


async def test_many_incomplete_handshakes_close_the_connection_with_most_memory(
    start_server: StartServer,
) -> None:
    """Peers without a completed handshake are not authenticated."""
    echo = Echo()
    tls = ServerContexts(ServerTls())
    server = await start_server(echo, tls=tls, memory=MemoryAccount(2 << 20, share_min=0))
    hello = b"\x01" + (120_000).to_bytes(3, "big") + bytes(90_000)
    pieces = [hello[at : at + 16_000] for at in range(0, len(hello), 16_000)]
    records = [b"\x16\x03\x01" + len(each).to_bytes(2, "big") + each for each in pieces]
    writers = []
    for _ in range(8):
        _, writer = await asyncio.open_connection(*server.addresses["internal"])
        writer.write(b"".join(records))
        writers.append(writer)

    assert await echo.closings.get() is Reason.MEMORY_BUDGET
    for writer in writers:
        writer.transport.abort()


async def test_begun_handshakes_count_with_openssls_memory(
    start_server: StartServer,
) -> None:
    """Each client has sent a few bytes; counted alone, these would admit a thousand times as
    many."""
    echo = Echo()
    tls = ServerContexts(ServerTls())
    memory = MemoryAccount(960 * 1024, share_min=0)
    server = await start_server(echo, tls=tls, memory=memory)
    writers = []
    for _ in range(12):
        _, writer = await asyncio.open_connection(*server.addresses["internal"])
        writer.write(b"\x16\x03\x01\x40\x00")
        writers.append(writer)

    async with asyncio.timeout(10):  # far longer than needed
        assert await echo.closings.get() is Reason.MEMORY_BUDGET
    for writer in writers:
        writer.transport.abort()


async def test_open_connection_counts_less_than_a_handshake(
    start_server: StartServer,
) -> None:
    echo = Echo()
    server = await start_server(echo, tls=ServerContexts(ServerTls()))
    reader, writer = await asyncio.open_connection(
        *server.addresses["internal"], ssl=client_context(ClientTls()), server_hostname="localhost"
    )
    writer.write(encode(Command(1)))
    await reader.readexactly(4)
    assert server.memory.held_of(Kind.CONNECTIONS) == 18 * 1024
    writer.close()
    await echo.closings.get()
    assert server.memory.held_of(Kind.CONNECTIONS) == 0


def test_a_plain_connection_costs_nothing_for_tls() -> None:
    transport = TlsTransport.of_server(ServerContexts(ServerTls()))
    assert transport.held_bytes == 0
    transport.receive(b"\x00\x00")
    assert transport.held_bytes == 0


def test_a_plain_peer_s_bytes_pass_untouched_from_the_first_on() -> None:
    transport = TlsTransport.of_server(ServerContexts(ServerTls()))

    assert transport.receive(b"\x00\x00") == b"\x00\x00"
    assert transport.receive(b"\x16") == b"\x16"  # only the first byte of a connection decides
    assert transport.is_plain


def test_disabled_tls_names_the_setting() -> None:
    with pytest.raises(TlsTransportError, match=r"tls\.server\.mode is disabled"):
        TlsTransport.of_server(ServerContexts(ServerTls(mode=TlsMode.DISABLED))).receive(
            b"\x16\x03"
        )


def test_the_large_library_is_not_loaded_before_a_client_hello() -> None:
    script = (
        "import sys; from gantrymq.runtime.security.certificates import ServerContexts, ServerTls;"
        "from gantrymq.runtime import net;"
        "c = ServerContexts(ServerTls()); assert 'cryptography' not in sys.modules;"
        "c.context(); assert 'cryptography' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
