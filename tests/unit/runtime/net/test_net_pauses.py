"""Tests connections that a server pauses, delays, or bounds by address."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from gantrymq.fakes.connections import (
    Client,
    Recorder,
    many,
    some_turns,
    the_lines,
)
from gantrymq.remoting.connections import ConnectionLimits
from gantrymq.runtime.net.net import Server, ServerLimits

StartServer = Callable[..., Awaitable[Server]]


async def test_paused_connection_is_not_read_until_resumed(start_server: StartServer) -> None:
    recorder = Recorder()
    client = await Client.to(await start_server(recorder))
    channel = await recorder.opened_channels.get()
    client.send(*many(1))
    await client.answer()
    channel.hold_up()
    await some_turns()

    client.send(*many(1))
    await client.writer.drain()
    await some_turns()
    assert len(recorder.batches) == 1
    channel.go_on()

    await client.answer()
    assert len(recorder.batches) == 2
    await client.close()


async def test_connection_that_is_delayed_is_not_read_until_its_time_is_over(
    start_server: StartServer,
) -> None:
    recorder = Recorder()
    client = await Client.to(await start_server(recorder))
    channel = await recorder.opened_channels.get()
    client.send(*many(1))
    await client.answer()
    loop = asyncio.get_running_loop()
    began = loop.time()
    channel.delay(0.2)
    channel.delay(0.05)  # a shorter delay does not end the longer one
    await some_turns()

    client.send(*many(1))
    await client.writer.drain()
    await client.answer()
    assert loop.time() - began >= 0.19
    await client.close()


async def test_connection_that_ends_while_it_is_delayed_leaves_nothing_behind(
    start_server: StartServer,
) -> None:
    recorder = Recorder()
    client = await Client.to(await start_server(recorder))
    channel = await recorder.opened_channels.get()
    channel.delay(3600)
    await some_turns()
    channel.abort()
    await client.close()
    await some_turns()
    assert channel.is_closing
    channel.delay(1.0)  # the core may ask for a delay before it learns that the connection ended


async def test_share_of_an_address_is_enforced_and_logged_with_the_setting(
    start_server: StartServer, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = Recorder()
    limits = ConnectionLimits(address_connections_max=1, exempt=())
    server = await start_server(recorder, limits=ServerLimits(connections=limits))
    first = await Client.to(server)
    await recorder.opened_channels.get()

    refused = await Client.to(server)
    assert await refused.is_closed_by_server()

    assert "maxConnectionsPerAddress" in the_lines(caplog)[0]
    await refused.close()
    await first.close()
