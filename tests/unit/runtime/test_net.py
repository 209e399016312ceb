from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.remoting.events import Reason
from gantrymq.remoting.failures import ConnectionLostError, RequestTimeoutError
from gantrymq.remoting.limits import SessionLimits
from gantrymq.runtime.channel import Channel
from gantrymq.runtime.clock import VirtualClock
from gantrymq.runtime.net import Listener, Server, ServerLimits
from gantrymq.wire.command import Command
from gantrymq.wire.frames import FrameReader, encode

StartServer = Callable[..., Awaitable[Server]]

ECHO, KEEP = 1, 2


class Recorder:
    """Answers ECHO with the question's body, keeps KEEP, and notes what happens."""

    def __init__(self, answer_bytes: int | None = None) -> None:
        self.batches: list[list[Command]] = []
        self.kept: asyncio.Queue[tuple[Channel, Command]] = asyncio.Queue()
        self.opened_channels: asyncio.Queue[Channel] = asyncio.Queue()
        self.closings: asyncio.Queue[Reason] = asyncio.Queue()
        self._answer = None if answer_bytes is None else bytes(answer_bytes)

    def opened(self, channel: Channel, now: float) -> None:
        self.opened_channels.put_nowait(channel)

    def requests(self, channel: Channel, commands: list[Command], now: float) -> None:
        self.batches.append(commands)
        for command in commands:
            if command.code == KEEP:
                self.kept.put_nowait((channel, command))
                continue
            body = command.body if self._answer is None else self._answer
            channel.respond(command, Command(0, body=body, remark=channel.listener))

    def closed(self, channel: Channel, reason: Reason, now: float) -> None:
        self.closings.put_nowait(reason)


class Client:
    """A raw connection: frames in, commands out."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self._frames = FrameReader()
        self._commands: list[Command] = []

    @classmethod
    async def to(cls, server: Server, listener: str = "internal") -> Client:
        return cls(*await asyncio.open_connection(*server.addresses[listener]))

    def send(self, *commands: Command) -> None:
        self.writer.write(b"".join(map(encode, commands)))

    async def answer(self) -> Command:
        while not self._commands:
            data = await self.reader.read(1 << 20)
            assert data, "the server closed the connection"
            self._commands += self._frames.feed(data)
        return self._commands.pop(0)

    async def is_closed_by_server(self) -> bool:
        try:
            return await self.reader.read() == b""
        except ConnectionResetError:
            return True

    async def close(self) -> None:
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except OSError:
            return  # the server was quicker


def raise_a_bug(channel: Channel, commands: list[Command], now: float) -> None:
    raise ZeroDivisionError


def many(count: int, code: int = ECHO, body: bytes = b"") -> list[Command]:
    return [Command(code, opaque=opaque, body=body) for opaque in range(count)]


async def until(condition: Callable[[], bool]) -> None:
    """Turns the loop until it is so; pytest's timeout is the bound."""
    while not condition():  # noqa: ASYNC110  # what is awaited has no event, on purpose
        await asyncio.sleep(0)


async def some_turns() -> None:
    """Enough of them for the loop to do what it must not do."""
    for _ in range(100):
        await asyncio.sleep(0)


def the_lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


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
async def test_a_listener_behind_a_load_balancer_knows_for_whom_it_speaks(header: bytes) -> None:
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
    assert the_lines(caplog) == []  # nobody did anything wrong

    channel.respond(request, Command(0))
    channel.notify(Command(40))
    with pytest.raises(ConnectionLostError):
        await channel.request(Command(307), 1.0)


# ---------------------------------------------------------------------- asking the client


async def test_the_server_asks_its_client(start_server: StartServer) -> None:
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


async def test_a_cancelled_question_is_forgotten(start_server: StartServer) -> None:
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


# ---------------------------------------------------------------------- hostile peers


@pytest.mark.parametrize(
    "garbage",
    [b"GET / HTTP/1.1\r\n\r\n", b"PROXY TCP4 ", b"\x7f\xff\xff\xff" + bytes(9)],
    ids=["http", "proxy", "length"],
)
async def test_garbage_is_answered_by_a_closed_connection_and_a_line(
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


async def test_a_hundred_nonsense_peers_cause_a_handful_of_lines(
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

    server.sweep.sweep(clock.monotonic())

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
    server.sweep.sweep(clock.monotonic())
    assert recorder.closings.empty()
    clock.advance(1.0)
    server.sweep.sweep(clock.monotonic())

    assert await recorder.closings.get() is Reason.IDLE
    assert 'reason=idle detail="nothing came for 120 s"' in the_lines(caplog)[0]
    await client.close()


async def test_a_client_that_never_reads_is_cut_off(start_server: StartServer) -> None:
    recorder = Recorder(answer_bytes=256 * 1024)
    limits = ServerLimits(session=SessionLimits(bytes_out_max=8 * 1024 * 1024))
    server = await start_server(recorder, limits=limits)
    client = await Client.to(server)
    client.send(*many(1000))

    assert await recorder.closings.get() is Reason.SLOW_READER
    assert server.counters.held_bytes == 0
    await client.close()


async def test_a_client_that_reads_late_gets_everything_and_is_not_read_meanwhile(
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
    assert server.counters.held_bytes == 0
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

    # The bound and what one read brought on top of it, the rest is the client's own memory.
    assert server.counters.requests <= 10 + 256 * 1024 // one_read
    for _ in range(3999):
        channel, request = await recorder.kept.get()
        channel.respond(request, Command(0))
    assert server.counters.requests == 4000
    client.writer.transport.abort()


async def test_a_handler_that_raises_costs_its_own_connection_only(
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
    server = await start_server(recorder, limits=ServerLimits(connections_max=2))
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


async def test_many_incomplete_frames_cost_the_greediest_its_connection(
    start_server: StartServer,
) -> None:
    recorder = Recorder()
    server = await start_server(recorder, limits=ServerLimits(held_bytes_max=1024 * 1024))
    frame = encode(Command(ECHO, body=bytes(2 * 1024 * 1024)))
    modest, greedy = await Client.to(server), await Client.to(server)
    modest.writer.write(frame[: 300 * 1024])
    await modest.writer.drain()
    await until(lambda: server.counters.held_bytes >= 300 * 1024)

    greedy.writer.write(frame[: 900 * 1024])

    assert await recorder.closings.get() is Reason.MEMORY_BUDGET
    assert await greedy.is_closed_by_server()
    assert server.counters.held_bytes == 300 * 1024
    modest.writer.write(frame[300 * 1024 :][: 600 * 1024])
    assert server.connection_count == 1
    for client in (modest, greedy):
        await client.close()


# ---------------------------------------------------------------------- life


async def test_a_port_in_use_is_a_configuration_error_that_names_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = Server(Recorder())
        with pytest.raises(ConfigurationError, match=f"listener internal.*127.0.0.1:{port}"):
            await server.start([Listener("internal", "127.0.0.1", port)])


async def test_stopping_finishes_what_is_in_flight(start_server: StartServer) -> None:
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
