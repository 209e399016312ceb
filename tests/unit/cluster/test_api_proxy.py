"""Tests the proxy in front of the API server between real sockets on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cluster.local.api_proxy import ApiProxy, Settings, send_command, updated

LOOPBACK = "127.0.0.1"
LATENCY_S = 0.2
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ('{"request_ms": -1}', "request_ms must be"),
        ('{"response_ms": 1e3}', "response_ms must be"),
        ('{"request_ms": true}', "request_ms must be"),
        ('{"accepting": 1}', "accepting must be"),
        ('{"speed": 1}', "no setting speed"),
        ("nonsense", "Expecting value"),
    ],
)
def test_a_wrong_command_is_refused_with_its_reason(command: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        updated(Settings(), command)


def test_a_command_changes_only_what_it_names() -> None:
    slow = updated(Settings(), '{"request_ms": 500}')
    assert updated(slow, '{"response_ms": 20}') == Settings(request_ms=500, response_ms=20)
    assert updated(slow, "{}") == slow


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while chunk := await reader.read(1 << 16):
            writer.write(chunk)
            await writer.drain()
        writer.write(b"end")
    await close(writer)


async def close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


class Setup:
    """A proxy in front of an echo server."""

    def __init__(self, server: asyncio.Server, proxy: ApiProxy, port: int) -> None:
        self.server, self.proxy, self.port = server, proxy, port

    async def connect(self) -> Streams:
        return await asyncio.open_connection(LOOPBACK, self.port)


@pytest.fixture
async def setup(unused_tcp_port: int) -> AsyncIterator[Setup]:
    server = await asyncio.start_server(echo, LOOPBACK, 0)
    proxy = ApiProxy((LOOPBACK, unused_tcp_port), server.sockets[0].getsockname())
    await proxy.apply(Settings())
    yield Setup(server, proxy, unused_tcp_port)
    await proxy.apply(Settings(accepting=False))
    server.close()


async def round_trip_s(streams: Streams) -> float:
    started = asyncio.get_running_loop().time()
    streams[1].write(b"x")
    assert await streams[0].readexactly(1) == b"x"
    return asyncio.get_running_loop().time() - started


async def test_bytes_pass_both_ways_and_the_end_of_the_stream_too(setup: Setup) -> None:
    reader, writer = await setup.connect()
    sent = bytes(range(256)) * 4096
    writer.write(sent)
    writer.write_eof()
    assert await reader.read() == sent + b"end"
    await close(writer)


@pytest.mark.parametrize("direction", ["request_ms", "response_ms"])
async def test_latency_holds_for_open_connections_and_ends(setup: Setup, direction: str) -> None:
    streams = await setup.connect()
    assert await round_trip_s(streams) < LATENCY_S
    delay = json.dumps({direction: int(LATENCY_S * 1000)})
    await setup.proxy.apply(updated(Settings(), delay))
    assert await round_trip_s(streams) >= LATENCY_S
    await setup.proxy.apply(Settings())
    assert await round_trip_s(streams) < LATENCY_S
    await close(streams[1])


async def test_a_proxy_that_does_not_accept_refuses_and_resets(setup: Setup) -> None:
    reader, writer = await setup.connect()
    await round_trip_s((reader, writer))
    await setup.proxy.apply(Settings(accepting=False))
    with contextlib.suppress(ConnectionResetError):
        assert await reader.read() == b""
    await close(writer)
    with pytest.raises(ConnectionRefusedError):
        await setup.connect()
    await setup.proxy.apply(Settings())
    streams = await setup.connect()
    await round_trip_s(streams)
    await close(streams[1])


async def test_without_a_server_behind_it_a_connection_is_reset(setup: Setup) -> None:
    setup.server.close()
    await setup.server.wait_closed()
    reader, writer = await setup.connect()
    with contextlib.suppress(ConnectionResetError):
        assert await reader.read() == b""
    await close(writer)


async def test_the_control_socket_answers_with_the_state(setup: Setup, tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    control = await asyncio.start_unix_server(setup.proxy.control, path)
    command: dict[str, object] = {"request_ms": 7}
    answer = json.loads(await asyncio.to_thread(send_command, path, command))
    assert answer == {"request_ms": 7, "response_ms": 0, "accepting": True}
    answer = json.loads(await asyncio.to_thread(send_command, path, {"request_ms": "x"}))
    assert "request_ms must be" in answer["error"]
    assert setup.proxy.settings.request_ms == 7
    control.close()
