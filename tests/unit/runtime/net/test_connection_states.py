"""Tests that channels and dialers change their state as the tables say, in every row."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from gantrymq.base.transitions import Transition
from gantrymq.remoting.backoff import BackoffPolicy
from gantrymq.remoting.events import Ended
from gantrymq.remoting.failures import ConnectError, RequestError
from gantrymq.remoting.limits import SessionLimits
from gantrymq.remoting.session import Session
from gantrymq.runtime.clock import VirtualClock
from gantrymq.runtime.net.channel import Channel
from gantrymq.runtime.net.connection_states import (
    CHANNEL_STATES,
    DIAL_STATES,
    ChannelState,
    DialState,
)
from gantrymq.runtime.net.deadline_timer import DeadlineTimer
from gantrymq.runtime.net.dialer import Connection, Dialer, DialerSettings
from gantrymq.runtime.net.outbox import Outbox
from gantrymq.runtime.security.certificates import ClientTls, ServerContexts, ServerTls
from gantrymq.runtime.security.client_contexts import ClientContexts
from gantrymq.runtime.security.tls import TlsTransport
from gantrymq.wire.command import Command
from gantrymq.wire.frames import encode

KEEP = 2


class Transport:
    """The event loop's side of a channel: keeps what is written."""

    def __init__(self) -> None:
        self.written = b""

    def get_extra_info(self, name: str) -> object:
        del name
        return ("127.0.0.1", 1)

    def set_write_buffer_limits(self, high: int) -> None: ...

    def get_write_buffer_size(self) -> int:
        return 0

    def write(self, data: bytes) -> None:
        self.written += data

    def take(self) -> bytes:
        written, self.written = self.written, b""
        return written

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def close(self) -> None: ...

    def abort(self) -> None: ...


class Owner:
    """Owns channels and keeps their requests."""

    def __init__(self) -> None:
        self.feed = None
        self.outbox = Outbox()
        self.deadline_timer = DeadlineTimer(list, self.monotonic)
        self.kept: list[Command] = []

    def monotonic(self) -> float:
        return 0.0

    def opened(self, channel: Channel, now: float) -> None: ...

    def requests(self, channel: Channel, commands: list[Command], now: float) -> None:
        self.kept += commands

    def held(self, channel: Channel, more_bytes: int) -> None: ...

    def closed(self, channel: Channel, ending: Ended, now: float) -> None: ...


class End:
    """One end of a connection, and its channel's state."""

    def __init__(self, tls: TlsTransport | None = None) -> None:
        self.owner = Owner()
        self.transport = Transport()
        session = Session(SessionLimits(), 0.0)
        self.channel = Channel(self.owner, 1, "test", session, tls)
        self.is_draining = False

    def connect(self) -> End:
        self.channel.connection_made(self.transport)
        return self

    def drain(self) -> None:
        self.is_draining = True
        self.channel.drain()

    def respond(self) -> None:
        self.channel.respond(self.owner.kept.pop(), Command(0))
        self.channel.flush()

    @property
    def state(self) -> ChannelState:
        channel: Any = self.channel  # Any: its private fields are the state
        if channel._transport is None:
            return ChannelState.CLOSED if channel.is_closing else ChannelState.CONNECTING
        if channel.is_closing:
            return ChannelState.CLOSING
        if channel._tls is not None and channel._tls.is_shaking_hands:
            return ChannelState.HANDSHAKE
        if channel._tls is not None and not channel._tls.lets_output_pass:
            return ChannelState.DETECTING
        return ChannelState.DRAINING if self.is_draining else ChannelState.OPEN


def tls_client() -> End:
    return End(TlsTransport.of_client(ClientContexts(ClientTls()).context()))


def tls_server() -> End:
    return End(TlsTransport.of_server(ServerContexts(ServerTls())))


def detecting() -> End:
    return tls_server().connect()


def shaking_hands() -> End:
    return tls_client().connect()


def opened() -> End:
    end = End().connect()
    end.channel.data_received(encode(Command(KEEP)))
    return end


def draining() -> End:
    end = opened()
    end.drain()
    return end


def closing() -> End:
    end = opened()
    end.channel.close()
    return end


def greet(server: End) -> None:
    server.channel.data_received(tls_client().connect().transport.take())


def establish(client: End) -> None:
    server = detecting()
    for _ in range(3):
        server.channel.data_received(client.transport.take())
        client.channel.data_received(server.transport.take())


def lose(end: End) -> None:
    end.channel.connection_lost(None)


def close(end: End) -> None:
    end.channel.close()


SCENES: dict[tuple[ChannelState, str], tuple[Callable[[], End], Callable[[End], object]]] = {
    (ChannelState.CONNECTING, "connected without TLS"): (End, End.connect),
    (ChannelState.CONNECTING, "connected as TLS client"): (tls_client, End.connect),
    (ChannelState.CONNECTING, "accepted by TLS server"): (tls_server, End.connect),
    (ChannelState.DETECTING, "plain bytes"): (
        detecting,
        lambda end: end.channel.data_received(encode(Command(KEEP))),
    ),
    (ChannelState.DETECTING, "TLS bytes"): (detecting, greet),
    (ChannelState.HANDSHAKE, "TLS established"): (shaking_hands, establish),
    (ChannelState.OPEN, "drain"): (opened, End.drain),
    (ChannelState.DRAINING, "last response written"): (draining, End.respond),
    **{
        (state, event): (begin, act)
        for event, act in (("close", close), ("connection lost", lose))
        for state, begin in (
            (ChannelState.DETECTING, detecting),
            (ChannelState.HANDSHAKE, shaking_hands),
            (ChannelState.OPEN, opened),
            (ChannelState.DRAINING, draining),
        )
    },
    (ChannelState.CLOSING, "connection lost"): (closing, lose),
}


@pytest.mark.parametrize("row", CHANNEL_STATES.rows, ids=lambda row: f"{row.source.name} {row[1]}")
async def test_a_channel_follows_each_row(row: Transition[ChannelState]) -> None:
    begin, act = SCENES[row.source, row.event]
    end = begin()
    assert end.state is row.source
    act(end)
    assert end.state is row.target


# ---------------------------------------------------------------------- dialers


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A peer that reads until the end and never responds."""
    await reader.read()
    writer.close()


def dial_state(dialer: Dialer, connection: Connection) -> DialState:
    if connection._connecting is not None:
        return DialState.CONNECTING
    if connection.is_connected:
        return DialState.CONNECTED
    is_due = dialer.backoff.retry_at(connection.address) <= dialer.monotonic()
    return DialState.IDLE if is_due else DialState.BACKING_OFF


class Path:
    """A dialer's path to one address, which records each change of its state."""

    def __init__(self, dialer: Dialer, address: str) -> None:
        self._dialer = dialer
        self.connection = dialer.connection(address)
        self.rows: set[tuple[DialState, str]] = set()
        self._state = DialState.IDLE

    def saw(self, event: str) -> None:
        """The path has the state to which the event leads by the table."""
        self.rows.add((self._state, event))
        self._state = DIAL_STATES.next(self._state, event)
        assert dial_state(self._dialer, self.connection) is self._state

    async def request(self) -> asyncio.Task[Command]:
        task = asyncio.ensure_future(self.connection.request(Command(KEEP), 30.0))
        await asyncio.sleep(0)
        return task


async def fails(task: asyncio.Task[Command]) -> None:
    with pytest.raises(RequestError):
        await task


async def connected(path: Path) -> asyncio.Task[Command]:
    asked = await path.request()
    path.saw("request")
    await path.connection._connecting  # type: ignore[misc]  # the attempt that was begun
    await asyncio.sleep(0)
    path.saw("connected")
    return asked


async def test_a_dialer_follows_each_row() -> None:
    clock = VirtualClock()
    settings = DialerSettings(backoff=BackoffPolicy(jitter=0.0))
    dialer = Dialer(settings=settings, clock=clock)
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    path = Path(dialer, f"{host}:{port}")

    asked = await path.request()
    path.saw("request")
    await path.connection.close()
    path.saw("close")
    await fails(asked)

    asked = await connected(path)
    await path.connection.close()
    path.saw("close")
    await fails(asked)

    asked = await connected(path)
    for channel in dialer._channels():
        channel.abort()
    await fails(asked)
    path.saw("channel closed")

    server.close()
    await server.wait_closed()
    asked = await path.request()
    path.saw("request")
    await fails(asked)
    path.saw("failed")
    with pytest.raises(ConnectError, match="will be tried again"):
        await path.connection.request(Command(KEEP), 1.0)
    path.saw("request")
    clock.advance(1.0)
    path.saw("pause over")
    await dialer.close()
    assert path.rows == {(row.source, row.event) for row in DIAL_STATES.rows}
