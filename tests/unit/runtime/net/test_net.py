"""Tests the server's connections: requests and answers, limits, ports, and how a server stops."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.fakes.connections import (
    ECHO,
    KEEP,
    Client,
    Recorder,
    many,
    the_lines,
)
from gantrymq.remoting.events import Reason
from gantrymq.remoting.failures import ConnectionLostError, RequestTimeoutError
from gantrymq.runtime.net.net import Listener, Server
from gantrymq.wire.command import Command

StartServer = Callable[..., Awaitable[Server]]


# ---------------------------------------------------------------------- serving


async def test_requests_of_one_read_come_together_and_their_answers_leave_in_order(
    start_server: StartServer,
) -> None:
    recorder = Recorder()
    server = await start_server(recorder)
    client = await Client.to(server)
    client.send(*many(50, body=b"x"))

    answers = [await client.answer() for _ in range(50)]

    assert [answer.opaque for answer in answers] == list(range(50))
    assert all(answer.is_response and answer.body == b"x" for answer in answers)
    assert len(recorder.batches) < 10
    assert server.counters.requests == 50
    await client.close()


async def test_each_request_knows_the_listener_it_came_in_on(start_server: StartServer) -> None:
    server = await start_server(Recorder(), "internal", "external")
    for name in ("internal", "external"):
        client = await Client.to(server, name)
        client.send(*many(1))
        assert (await client.answer()).remark == name
        await client.close()

    assert server.counters.accepted == {"internal": 1, "external": 1}


@pytest.mark.parametrize("header", [b"PROXY TCP4 10.0.0.7 10.0.0.1 51234 9876\r\n", b""])
async def test_listener_behind_a_load_balancer_knows_the_clients_address(header: bytes) -> None:
    recorder = Recorder()
    server = Server(recorder)
    await server.start([Listener("internal", "127.0.0.1", 0, proxy_protocol=True)])
    client = await Client.to(server)
    client.writer.write(header)
    client.send(*many(1))
    await client.answer()

    [channel] = server.channels
    assert (channel.peer == "10.0.0.7:51234") == bool(header)
    await client.close()
    await server.stop(0.0)


async def test_the_largest_frame_comes_through_both_ways(start_server: StartServer) -> None:
    server = await start_server(Recorder())
    client = await Client.to(server)
    body = bytes(range(256)) * (65_536 - 1)
    client.send(Command(ECHO, body=body))

    assert (await client.answer()).body == body
    await client.close()


async def test_two_hundred_connections_at_once(start_server: StartServer) -> None:
    server = await start_server(Recorder())
    clients = await asyncio.gather(*(Client.to(server) for _ in range(200)))
    for client in clients:
        client.send(*many(3, body=b"y"))

    for client in clients:
        assert [(await client.answer()).opaque for _ in range(3)] == [0, 1, 2]
    assert server.connection_count == 200
    assert len({channel.peer for channel in server.channels}) == 200
    await asyncio.gather(*(client.close() for client in clients))


async def test_an_answer_may_come_in_a_later_turn(start_server: StartServer) -> None:
    recorder = Recorder()
    client = await Client.to(await start_server(recorder))
    client.send(*many(1, KEEP))
    channel, request = await recorder.kept.get()

    channel.respond(request, Command(0, body=b"late"))

    assert (await client.answer()).body == b"late"
    await client.close()


async def test_answering_a_client_that_is_gone_does_nothing(
    start_server: StartServer, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = Recorder()
    client = await Client.to(await start_server(recorder))
    client.send(*many(1, KEEP))
    channel, request = await recorder.kept.get()
    await client.close()
    assert await recorder.closings.get() is Reason.PEER_CLOSED
    assert the_lines(caplog) == []  # no peer did anything wrong

    channel.respond(request, Command(0))
    channel.notify(Command(40))
    with pytest.raises(ConnectionLostError):
        await channel.request(Command(307), 1.0)


# ---------------------------------------------------------------------- asking the client


async def test_server_sends_a_request_to_its_client(start_server: StartServer) -> None:
    recorder = Recorder()
    client = await Client.to(await start_server(recorder))
    channel = await recorder.opened_channels.get()
    asking = asyncio.create_task(channel.request(Command(307), 30.0))

    question = await client.answer()
    client.send(Command(0, opaque=question.opaque, flag=1, body=b"info"))

    assert (await asking).body == b"info"
    await client.close()


async def test_a_client_that_does_not_answer_times_out_and_stays_connected(
    start_server: StartServer,
) -> None:
    recorder = Recorder()
    client = await Client.to(await start_server(recorder))
    channel = await recorder.opened_channels.get()

    with pytest.raises(RequestTimeoutError):
        await channel.request(Command(307), 0.01)

    client.send(*many(1))
    assert (await client.answer()).code == 307
    assert (await client.answer()).code == 0
    await client.close()


async def test_cancelled_request_is_forgotten(start_server: StartServer) -> None:
    recorder = Recorder()
    client = await Client.to(await start_server(recorder))
    channel = await recorder.opened_channels.get()
    asking = asyncio.create_task(channel.request(Command(307), 30.0))
    question = await client.answer()

    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    client.send(Command(0, opaque=question.opaque, flag=1), *many(1))
    await client.answer()

    assert channel.unmatched_responses == 1
    await client.close()


# ---------------------------------------------------------------------- life


async def test_a_port_in_use_is_a_configuration_error_that_names_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = Server(Recorder())
        with pytest.raises(ConfigurationError, match=f"listener internal.*127.0.0.1:{port}"):
            await server.start([Listener("internal", "127.0.0.1", port)])


async def test_stop_finishes_requests_in_flight(start_server: StartServer) -> None:
    recorder = Recorder()
    server = await start_server(recorder)
    busy, idle = await Client.to(server), await Client.to(server)
    busy.send(*many(1, KEEP))
    channel, request = await recorder.kept.get()

    stopping = asyncio.create_task(server.stop(30.0))
    assert await idle.is_closed_by_server()
    channel.respond(request, Command(0, body=b"done"))

    assert (await busy.answer()).body == b"done"
    assert await busy.is_closed_by_server()
    await stopping
    assert server.counters.closed["internal", Reason.DRAINED] == 2
    for client in (busy, idle):
        await client.close()


async def test_stopping_has_a_deadline(
    start_server: StartServer, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = Recorder()
    server = await start_server(recorder)
    client = await Client.to(server)
    client.send(*many(1, KEEP))
    await recorder.kept.get()

    await server.stop(0.01)

    assert await client.is_closed_by_server()
    assert server.connection_count == 0
    assert "requests in flight connections=1" in the_lines(caplog)[0]
    await client.close()


async def test_a_cancelled_stop_still_closes_everything(start_server: StartServer) -> None:
    recorder = Recorder()
    server = await start_server(recorder)
    client = await Client.to(server)
    client.send(*many(1, KEEP))
    await recorder.kept.get()
    stopping = asyncio.create_task(server.stop(30.0))
    await asyncio.sleep(0)

    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping

    assert await client.is_closed_by_server()
    await client.close()
