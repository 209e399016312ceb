"""Tests outgoing connections: sharing, timeouts, back-off, cancellation and closing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from gantrymq.base.errors import LocalError
from gantrymq.remoting.events import Reason
from gantrymq.remoting.failures import ConnectError, ConnectionLostError, RequestTimeoutError
from gantrymq.remoting.limits import SessionLimits
from gantrymq.runtime.clock import VirtualClock
from gantrymq.runtime.net.channel import Channel
from gantrymq.runtime.net.dialer import IDLE_SECONDS, Dialer, DialerSettings
from gantrymq.runtime.net.net import Listener, Server
from gantrymq.runtime.security.certificates import ClientTls
from gantrymq.runtime.security.client_contexts import ClientContexts
from gantrymq.wire.command import Command, Encoding

StartServer = Callable[..., Awaitable[Server]]

ECHO, KEEP, ASK_BACK = 1, 2, 3


class Peer:
    """The server's side: it echoes, or keeps the request for the test to answer."""

    def __init__(self) -> None:
        self.kept: asyncio.Queue[tuple[Channel, Command]] = asyncio.Queue()
        self.asked_back: asyncio.Queue[Command] = asyncio.Queue()
        self.closings: asyncio.Queue[Reason] = asyncio.Queue()

    def opened(self, channel: Channel, now: float) -> None: ...

    def requests(self, channel: Channel, commands: list[Command], now: float) -> None:
        for command in commands:
            if command.code == ECHO:
                channel.respond(command, Command(0, body=command.body))
            else:
                self.kept.put_nowait((channel, command))

    def closed(self, channel: Channel, reason: Reason, now: float) -> None:
        self.closings.put_nowait(reason)


@pytest.fixture
async def dialer() -> AsyncIterator[Dialer]:
    dialer = Dialer(chance=lambda: 0.0)
    yield dialer
    await dialer.close()


def address(server: Server) -> str:
    host, port = server.addresses["internal"]
    return f"{host}:{port}"


# ---------------------------------------------------------------------- asking


async def test_many_requests_share_one_connection_made_on_demand(
    start_server: StartServer, dialer: Dialer
) -> None:
    server = await start_server(Peer())
    connection = dialer.connection(address(server))
    assert server.connection_count == 0

    answers = await asyncio.gather(
        *(
            connection.request(Command(ECHO, body=str(number).encode(), encoding=encoding), 30.0)
            for number, encoding in enumerate([Encoding.JSON, Encoding.BINARY] * 50)
        )
    )

    assert [answer.body for answer in answers] == [str(number).encode() for number in range(100)]
    assert server.counters.accepted == {"internal": 1}
    assert connection.is_connected
    assert dialer.connection(address(server)) is connection


async def test_a_oneway_request_arrives(start_server: StartServer, dialer: Dialer) -> None:
    peer = Peer()
    server = await start_server(peer)

    await dialer.connection(address(server)).notify(Command(KEEP, body=b"news"))

    _, command = await peer.kept.get()
    assert (command.body, command.is_oneway) == (b"news", True)


async def test_timeout_of_a_request_keeps_the_connection(
    start_server: StartServer, dialer: Dialer
) -> None:
    server = await start_server(Peer())
    connection = dialer.connection(address(server))

    with pytest.raises(RequestTimeoutError):
        await connection.request(Command(KEEP), 0.02)

    assert (await connection.request(Command(ECHO), 30.0)).code == 0
    assert server.counters.accepted == {"internal": 1}


async def test_silence_ends_the_connection_if_configured(start_server: StartServer) -> None:
    """Other requests that wait on this connection fail as well."""
    peer = Peer()
    server = await start_server(peer)
    dialer = Dialer(settings=DialerSettings(session=SessionLimits(silence_seconds=0.01)))
    connection = dialer.connection(address(server))
    held = asyncio.create_task(connection.request(Command(KEEP), 30.0))
    await peer.kept.get()

    with pytest.raises(RequestTimeoutError):
        await connection.request(Command(KEEP), 0.02)

    with pytest.raises(ConnectionLostError, match="silent nothing arrived"):
        await held
    assert (await connection.request(Command(ECHO), 30.0)).code == 0
    assert server.counters.accepted == {"internal": 2}
    await dialer.close()


async def test_requests_of_the_server_are_refused_by_default(
    start_server: StartServer, dialer: Dialer
) -> None:
    peer = Peer()
    server = await start_server(peer)
    asking = asyncio.create_task(dialer.connection(address(server)).request(Command(KEEP), 30.0))
    channel, request = await peer.kept.get()

    refusal = await channel.request(Command(307), 30.0)
    channel.respond(request, Command(0))

    assert refusal.remark == " request type 307 not supported"
    await asking


async def test_too_many_requests_in_flight_are_a_local_error(start_server: StartServer) -> None:
    peer = Peer()
    server = await start_server(peer)
    dialer = Dialer(settings=DialerSettings(session=SessionLimits(requests_out_max=1)))
    connection = dialer.connection(address(server))
    first = asyncio.create_task(connection.request(Command(KEEP), 30.0))
    channel, request = await peer.kept.get()

    with pytest.raises(LocalError, match="bound is 1"):
        await connection.request(Command(ECHO), 30.0)

    channel.respond(request, Command(0))
    await first
    await dialer.close()


# ---------------------------------------------------------------------- failing


async def test_a_refused_connection_backs_off_and_says_why() -> None:
    dialer = Dialer(clock=VirtualClock(), chance=lambda: 0.0)  # it backs off until the end
    server = Server(Peer())
    await server.start([Listener("internal", "127.0.0.1", 0)])
    gone = address(server)
    await server.stop(0.0)
    connection = dialer.connection(gone)

    with pytest.raises(ConnectError, match=f"cannot connect to {gone}"):
        await connection.request(Command(ECHO), 30.0)
    with pytest.raises(ConnectError, match=r"tried again in 0\.. s; the last attempt failed: "):
        await connection.request(Command(ECHO), 30.0)

    assert dialer.backoff.failures(gone) == 1
    await dialer.close()


@pytest.mark.parametrize("host", ["a..b", "x" * 70, "ü" * 64])
async def test_a_name_that_no_host_can_have_is_a_failed_connect(host: str, dialer: Dialer) -> None:
    with pytest.raises(ConnectError, match=f"cannot connect to {host}:9876: .*label"):
        await dialer.connection(f"{host}:9876").request(Command(ECHO), 5.0)


async def test_each_waiting_caller_gets_its_own_exception(dialer: Dialer) -> None:
    server = Server(Peer())
    await server.start([Listener("internal", "127.0.0.1", 0)])
    connection = dialer.connection(address(server))
    await server.stop(0.0)

    failures = await asyncio.gather(
        *(connection.request(Command(ECHO), 30.0) for _ in range(3)), return_exceptions=True
    )

    assert [type(failure) for failure in failures] == [ConnectError] * 3
    assert len({id(failure) for failure in failures}) == 3
    assert dialer.backoff.failures(connection.address) == 1


async def test_dialer_reconnects_after_the_back_off(start_server: StartServer) -> None:
    clock = VirtualClock()
    dialer = Dialer(clock=clock, chance=lambda: 0.0)
    server = await start_server(Peer())
    connection = dialer.connection(address(server))
    dialer.backoff.failed(connection.address, clock.monotonic(), 0.0)
    with pytest.raises(ConnectError):
        await connection.request(Command(ECHO), 30.0)

    clock.advance(0.1)

    assert (await connection.request(Command(ECHO), 30.0)).code == 0
    assert dialer.backoff.failures(connection.address) == 0
    await dialer.close()


async def test_lost_connection_fails_requests_in_flight_and_the_next_one_reconnects(
    start_server: StartServer, dialer: Dialer
) -> None:
    peer = Peer()
    server = await start_server(peer)
    connection = dialer.connection(address(server))
    asking = asyncio.create_task(connection.request(Command(KEEP), 30.0))
    channel, _ = await peer.kept.get()

    channel.abort()

    with pytest.raises(ConnectionLostError, match="ended"):
        await asking
    assert (await connection.request(Command(ECHO), 30.0)).code == 0
    assert server.counters.accepted == {"internal": 2}


async def test_a_handshake_that_never_ends_is_a_failed_connect(start_server: StartServer) -> None:
    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    mute = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    host, port = mute.sockets[0].getsockname()
    dialer = Dialer(settings=DialerSettings(connect_seconds=0.05), tls=ClientContexts(ClientTls()))

    with pytest.raises(ConnectError, match=r"no answer for 0\.05 s"):
        await dialer.connection(f"{host}:{port}").request(Command(ECHO), 30.0)

    await dialer.close()
    mute.close()
    await mute.wait_closed()


async def test_a_tls_client_of_a_server_that_hangs_up_fails_to_connect(
    start_server: StartServer,
) -> None:
    server = await start_server(Peer())  # without TLS
    dialer = Dialer(tls=ClientContexts(ClientTls()))

    with pytest.raises(ConnectError, match=r"peer_closed|lost"):
        await dialer.connection(address(server)).request(Command(ECHO), 30.0)

    await dialer.close()


# ---------------------------------------------------------------------- cancelling


async def test_cancelled_request_does_not_affect_others(
    start_server: StartServer, dialer: Dialer
) -> None:
    peer = Peer()
    server = await start_server(peer)
    connection = dialer.connection(address(server))
    asking = asyncio.create_task(connection.request(Command(KEEP), 30.0))
    channel, request = await peer.kept.get()

    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    channel.respond(request, Command(0, body=b"too late"))

    assert (await connection.request(Command(ECHO, body=b"next"), 30.0)).body == b"next"
    [own_end] = dialer._channels()
    assert own_end.unmatched_responses == 1


async def test_cancelling_one_of_two_waiting_callers_leaves_the_other(
    start_server: StartServer, dialer: Dialer
) -> None:
    connection = dialer.connection(address(await start_server(Peer())))
    first = asyncio.create_task(connection.request(Command(ECHO), 30.0))
    second = asyncio.create_task(connection.request(Command(ECHO), 30.0))
    await asyncio.sleep(0)
    assert connection._connecting is not None

    first.cancel()

    assert (await second).code == 0
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_close_while_connecting_fails_waiting_callers(
    start_server: StartServer, dialer: Dialer
) -> None:
    connection = dialer.connection(address(await start_server(Peer())))
    waiting = asyncio.create_task(connection.request(Command(ECHO), 30.0))
    await asyncio.sleep(0)

    await connection.close()

    with pytest.raises(ConnectError, match="was closed"):
        await waiting
    assert not connection.is_connected
    assert connection._connecting is None


async def test_a_timeout_while_connecting_leaves_the_attempt_to_the_others(
    start_server: StartServer, dialer: Dialer
) -> None:
    connection = dialer.connection(address(await start_server(Peer())))
    patient = asyncio.create_task(connection.request(Command(ECHO), 30.0))

    with pytest.raises(RequestTimeoutError, match="not connected"):
        await connection.request(Command(ECHO), 0.0)

    assert (await patient).code == 0


async def test_close_fails_requests_in_flight(start_server: StartServer, dialer: Dialer) -> None:
    peer = Peer()
    connection = dialer.connection(address(await start_server(peer)))
    asking = asyncio.create_task(connection.request(Command(KEEP), 30.0))
    await peer.kept.get()

    await dialer.close()

    with pytest.raises(ConnectionLostError, match="closed_here"):
        await asking
    assert await peer.closings.get() is Reason.PEER_CLOSED


# ---------------------------------------------------------------------- forgetting


async def test_addresses_without_a_connection_are_forgotten_after_a_while(
    start_server: StartServer,
) -> None:
    clock = VirtualClock()
    dialer = Dialer(clock=clock)
    server = await start_server(Peer())
    used = dialer.connection(address(server))
    await used.request(Command(ECHO), 30.0)
    idle = dialer.connection("127.0.0.1:1")

    clock.advance(IDLE_SECONDS - 1.0)
    dialer._forget_idle(clock.monotonic())
    assert dialer._connections["127.0.0.1:1"] is idle
    clock.advance(1.0)
    dialer._forget_idle(clock.monotonic())

    assert list(dialer._connections) == [address(server)]
    await dialer.close()


async def test_addresses_are_bounded_and_those_in_use_stay(start_server: StartServer) -> None:
    dialer = Dialer(settings=DialerSettings(addresses_max=2))
    first, second = await start_server(Peer()), await start_server(Peer())
    connection = dialer.connection(address(first))
    await connection.request(Command(ECHO), 30.0)
    for port in range(1, 50):
        dialer.connection(f"127.0.0.1:{port}")

    assert list(dialer._connections) == [address(first), "127.0.0.1:49"]
    await dialer.connection(address(second)).request(Command(ECHO), 30.0)
    with pytest.raises(ConnectError, match="2 addresses are open already"):
        dialer.connection("127.0.0.1:1")
    assert dialer.connection(address(first)) is connection
    await dialer.close()
