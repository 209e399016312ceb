"""Tests hostile peers: each loses only its own connection and costs the server little."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

import pytest

from gantrymq.base.memory_account import Kind, MemoryAccount
from gantrymq.fakes.connections import (
    ECHO,
    KEEP,
    Client,
    Recorder,
    many,
    raise_a_bug,
    some_turns,
    the_lines,
    until,
)
from gantrymq.remoting.connections import ConnectionLimits
from gantrymq.remoting.events import Reason
from gantrymq.remoting.limits import SessionLimits
from gantrymq.runtime.clock import VirtualClock
from gantrymq.runtime.net.channel import Transport
from gantrymq.runtime.net.net import Server, ServerLimits
from gantrymq.wire.command import Command
from gantrymq.wire.frames import encode

StartServer = Callable[..., Awaitable[Server]]


def held(server: Server) -> int:
    """The bytes that all connections hold."""
    return server.memory.held_of(Kind.CONNECTIONS)


def room_for(held_bytes: int) -> MemoryAccount:
    """An account in which connections may hold so many bytes."""
    return MemoryAccount(2 * held_bytes, share_min=0)


@pytest.mark.parametrize(
    "garbage",
    [b"GET / HTTP/1.1\r\n\r\n", b"PROXY TCP4 ", b"\x7f\xff\xff\xff" + bytes(9)],
    ids=["http", "proxy", "length"],
)
async def test_garbage_closes_the_connection_and_writes_one_log_line(
    garbage: bytes, start_server: StartServer, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = Recorder()
    server = await start_server(recorder)
    client = await Client.to(server)
    client.writer.write(garbage)

    assert await recorder.closings.get() is Reason.GARBAGE
    assert await client.is_closed_by_server()
    assert server.counters.closed["internal", Reason.GARBAGE] == 1
    [line] = the_lines(caplog)
    assert "connection closed peer=127.0.0.1:" in line
    assert "reason=garbage" in line
    await client.close()


async def test_good_requests_in_front_of_garbage_are_answered(start_server: StartServer) -> None:
    client = await Client.to(await start_server(Recorder()))
    client.send(*many(2))
    client.writer.write(b"GET / HTTP/1.1\r\n\r\n")

    assert [(await client.answer()).opaque for _ in range(2)] == [0, 1]
    assert await client.is_closed_by_server()
    await client.close()


async def test_hundred_malformed_peers_cause_few_log_lines(
    start_server: StartServer, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = Recorder()
    clock = VirtualClock()
    server = await start_server(recorder, clock=clock)
    for _ in range(100):
        client = await Client.to(server)
        client.writer.write(b"nonsense" * 4)
        await recorder.closings.get()
        await client.close()
    assert len(the_lines(caplog)) == 5

    clock.advance(10.0)
    server._each_second(clock.monotonic())

    assert the_lines(caplog)[5:] == ["… and 95 more kind=garbage within=10s"]


async def test_a_slow_loris_is_cut_off(start_server: StartServer) -> None:
    recorder = Recorder()
    clock = VirtualClock()
    server = await start_server(recorder, clock=clock)
    client = await Client.to(server)
    client.send(*many(1))
    client.writer.write(encode(Command(ECHO))[:10])
    await client.answer()
    clock.advance(11.0)

    server.deadline_timer.expire_due(clock.monotonic())

    assert await recorder.closings.get() is Reason.SLOW_FRAME
    assert await client.is_closed_by_server()
    await client.close()


async def test_a_silent_connection_ends_after_two_minutes(
    start_server: StartServer, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = Recorder()
    clock = VirtualClock()
    server = await start_server(recorder, clock=clock)
    client = await Client.to(server)
    await recorder.opened_channels.get()

    clock.advance(119.0)
    server.deadline_timer.expire_due(clock.monotonic())
    assert recorder.closings.empty()
    clock.advance(1.0)
    server.deadline_timer.expire_due(clock.monotonic())

    assert await recorder.closings.get() is Reason.IDLE
    assert 'reason=idle detail="nothing arrived for 120 s"' in the_lines(caplog)[0]
    await client.close()


async def test_a_client_that_never_reads_is_cut_off(start_server: StartServer) -> None:
    recorder = Recorder(answer_bytes=256 * 1024)
    limits = ServerLimits(session=SessionLimits(bytes_out_max=8 * 1024 * 1024))
    server = await start_server(recorder, limits=limits)
    client = await Client.to(server)
    client.send(*many(1000))

    assert await recorder.closings.get() is Reason.SLOW_READER
    assert held(server) == 0
    await client.close()


async def test_client_that_reads_late_gets_all_output_and_is_not_read_before(
    start_server: StartServer,
) -> None:
    recorder = Recorder(answer_bytes=1024 * 1024)
    server = await start_server(recorder)
    client = await Client.to(server)
    channel = await recorder.opened_channels.get()
    client.send(*many(20))
    await until(lambda: not channel._is_reading)
    seen = server.counters.requests
    client.send(*many(20))
    await some_turns()
    assert server.counters.requests == seen

    answers = [await client.answer() for _ in range(40)]

    assert [answer.opaque for answer in answers] == [*range(20), *range(20)]
    await until(lambda: channel._is_reading)
    assert held(server) == 0
    await client.close()


async def test_a_flood_of_unanswered_requests_is_left_in_the_socket(
    start_server: StartServer,
) -> None:
    recorder = Recorder()
    limits = ServerLimits(session=SessionLimits(requests_in_max=10))
    server = await start_server(recorder, limits=limits)
    client = await Client.to(server)
    one_read = len(encode(Command(KEEP))) + 100
    for command in many(4000, KEEP, body=bytes(1000)):
        client.send(command)
    channel, _ = await recorder.kept.get()
    await until(lambda: not channel._is_reading)
    await some_turns()

    # The bound and the requests of one read beyond it; the rest is the client's own memory.
    assert server.counters.requests <= 10 + 256 * 1024 // one_read
    for _ in range(3999):
        channel, request = await recorder.kept.get()
        channel.respond(request, Command(0))
    assert server.counters.requests == 4000
    client.writer.transport.abort()


async def test_handler_that_raises_closes_only_its_connection(
    start_server: StartServer,
) -> None:
    stray: list[object] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: stray.append(context.get("exception"))
    )
    recorder = Recorder()
    server = await start_server(recorder)
    unlucky, other = await Client.to(server), await Client.to(server)
    recorder.requests = raise_a_bug  # type: ignore[method-assign]  # a fake with a bug
    unlucky.send(*many(1))

    assert await recorder.closings.get() is Reason.LOST
    assert await unlucky.is_closed_by_server()
    assert [type(exception) for exception in stray] == [ZeroDivisionError]
    del recorder.requests
    other.send(*many(1))
    assert (await other.answer()).code == 0
    for client in (unlucky, other):
        await client.close()


async def test_connections_beyond_the_bound_are_closed_at_once(
    start_server: StartServer, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = Recorder()
    server = await start_server(
        recorder, limits=ServerLimits(connections=ConnectionLimits(connections_max=2))
    )
    welcome = [await Client.to(server) for _ in range(2)]
    for _ in welcome:
        await recorder.opened_channels.get()

    refused = await Client.to(server)
    assert await refused.is_closed_by_server()

    assert "reason=too_many_connections" in the_lines(caplog)[0]
    assert recorder.opened_channels.empty()
    assert recorder.closings.empty()
    welcome[0].send(*many(1))
    assert (await welcome[0].answer()).code == 0
    for client in (*welcome, refused):
        await client.close()


async def test_many_incomplete_frames_close_the_connection_with_most_memory(
    start_server: StartServer,
) -> None:
    recorder = Recorder()
    server = await start_server(recorder, memory=room_for(1024 * 1024))
    frame = encode(Command(ECHO, body=bytes(2 * 1024 * 1024)))
    modest, greedy = await Client.to(server), await Client.to(server)
    modest.writer.write(frame[: 300 * 1024])
    await modest.writer.drain()
    await until(lambda: held(server) >= 300 * 1024)

    greedy.writer.write(frame[: 900 * 1024])

    assert await recorder.closings.get() is Reason.MEMORY_BUDGET
    assert await greedy.is_closed_by_server()
    assert held(server) == 300 * 1024
    modest.writer.write(frame[300 * 1024 :][: 600 * 1024])
    assert server.connection_count == 1
    for client in (modest, greedy):
        await client.close()


class Stuck:
    """A transport whose peer reads nothing, with too little output to be paused."""

    def __init__(self, transport: Transport, unsent_bytes: int) -> None:
        self._transport = transport
        self.unsent_bytes = unsent_bytes

    def get_write_buffer_size(self) -> int:
        return self.unsent_bytes

    def __getattr__(self, name: str) -> object:
        return getattr(self._transport, name)


async def stuck(recorder: Recorder, server: Server, unsent_bytes: int) -> tuple[Client, Stuck]:
    """A client that has not read so much of its responses."""
    client = await Client.to(server)
    channel = await recorder.opened_channels.get()
    assert channel._transport is not None
    transport = Stuck(channel._transport, unsent_bytes)
    channel._transport = cast("Transport", transport)
    client.send(*many(1))
    await client.answer()
    return client, transport


async def test_output_that_was_sent_in_between_does_not_count(
    start_server: StartServer,
) -> None:
    recorder = Recorder()
    server = await start_server(recorder, memory=room_for(100_000))
    first, transport = await stuck(recorder, server, 70_000)
    assert held(server) == 70_000
    transport.unsent_bytes = 0

    second, transport = await stuck(recorder, server, 70_000)
    await some_turns()
    assert held(server) == 70_000
    assert server.connection_count == 2
    transport.unsent_bytes = 0
    server._each_second(0.0)

    assert held(server) == 0
    await first.close()
    await second.close()


async def test_small_output_that_was_just_written_does_not_count(
    start_server: StartServer,
) -> None:
    recorder = Recorder()
    server = await start_server(recorder)
    clients = []
    for unsent_bytes, held_bytes in ((4095, 0), (4096, 4096)):
        client, _ = await stuck(recorder, server, unsent_bytes)
        clients.append(client)
        assert held(server) == held_bytes
    for client in clients:
        await client.close()


async def test_small_unread_output_of_many_closes_the_connection_with_most(
    start_server: StartServer,
) -> None:
    recorder = Recorder()
    server = await start_server(recorder, memory=room_for(100_000))
    greedy, _ = await stuck(recorder, server, 70_000)
    modest, _ = await stuck(recorder, server, 40_000)

    assert await recorder.closings.get() is Reason.MEMORY_BUDGET

    assert held(server) == 40_000
    assert await greedy.is_closed_by_server()
    await greedy.close()
    await modest.close()


async def test_connection_without_a_request_is_closed_and_others_stay(
    start_server: StartServer,
) -> None:
    recorder, clock = Recorder(), VirtualClock()
    server = await start_server(recorder, clock=clock)
    silent, client = await Client.to(server), await Client.to(server)
    client.send(*many(1))
    await client.answer()

    server._each_second(clock.monotonic() + 60.0)

    assert await recorder.closings.get() is Reason.ASKED_NOTHING
    assert await silent.is_closed_by_server()
    assert server.connection_count == 1
    await silent.close()
    await client.close()


async def test_partial_frame_of_a_closed_connection_is_released(
    start_server: StartServer,
) -> None:
    recorder = Recorder()
    server = await start_server(recorder)
    client = await Client.to(server)
    channel = await recorder.opened_channels.get()
    client.writer.write(encode(Command(ECHO, body=bytes(1 << 20)))[: 300 * 1024])
    await until(lambda: held(server) >= 300 * 1024)

    channel.close()
    await recorder.closings.get()

    assert channel._session.buffered_bytes == 0
    assert held(server) == 0
    await client.close()
