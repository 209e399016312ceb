"""Runs a server: listeners, their channels, and the bounds on all of them together.

Each listener has a name and each channel knows its listener, because responses may depend on it: a
broker announces different addresses inside and outside of a cluster.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol, cast, final

from gantrymq.base.errors import ConfigurationError
from gantrymq.base.memory_account import LIMIT_MAX, SETTING, Kind, MemoryAccount
from gantrymq.remoting.connections import ConnectionGate, ConnectionLimits
from gantrymq.remoting.events import Ended, Reason
from gantrymq.remoting.limits import SessionLimits
from gantrymq.remoting.proxy import ProxyHeader
from gantrymq.remoting.session import Session
from gantrymq.runtime.clock import SYSTEM_CLOCK, Clock
from gantrymq.runtime.logs import Log, QuietLog
from gantrymq.runtime.net.channel import Channel, ChannelFeed
from gantrymq.runtime.net.deadline_timer import DeadlineTimer
from gantrymq.runtime.net.listening import listen
from gantrymq.runtime.net.outbox import Outbox
from gantrymq.runtime.security.certificates import ServerContexts, ServerTls, TlsMode
from gantrymq.runtime.security.tls import TlsTransport
from gantrymq.runtime.storage.descriptors import RESERVE
from gantrymq.wire.command import Command

# Recounting every connection is expensive. If it frees less than this share of the bound, the
# connection that holds the most is closed; otherwise the next few bytes would cause a recount
# again.
ROOMY: Final = 1 / 8

NO_TLS: Final = ServerTls(mode=TlsMode.DISABLED)


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """The bounds of one server over all connections, each of which keeps its own bounds."""

    connections: ConnectionLimits = field(default_factory=ConnectionLimits)
    """How many connections there may be, and how long one may stay without a request."""

    backlog: int = 1024
    """Connections that the kernel completes before accept; serverSocketBacklog in Java."""

    session: SessionLimits = field(default_factory=SessionLimits)


@dataclass(frozen=True, slots=True)
class Listener:
    """Where a server listens; port 0 lets the system choose.

    With `proxy_protocol`, a load balancer may state the client's address; so may any other client
    that can connect.
    """

    name: str
    host: str
    port: int
    proxy_protocol: bool = False


@dataclass(slots=True)
class ServerCounters:
    """Numbers that the hot path increments; metrics read them at each scrape."""

    accepted: Counter[str] = field(default_factory=Counter)  # by listener
    closed: Counter[tuple[str, Reason]] = field(default_factory=Counter)
    requests: int = 0
    unmatched_responses: int = 0  # of channels that have ended, like the bytes
    bytes_in: int = 0
    bytes_out: int = 0


class Handler(Protocol):
    """Serves requests. Its methods run on the event loop and must neither block nor raise."""

    def opened(self, channel: Channel, now: float) -> None: ...

    def requests(self, channel: Channel, commands: list[Command], now: float) -> None:
        """All requests of one read. Each is answered, released, or kept to be answered later."""

    def closed(self, channel: Channel, reason: Reason, now: float) -> None: ...


@final
class Server:
    """Owns listeners and channels. Call `start`, then `stop`; it cannot be started again."""

    def __init__(
        self,
        handler: Handler,
        *,
        limits: ServerLimits | None = None,
        tls: ServerContexts | None = None,
        clock: Clock = SYSTEM_CLOCK,
        log: Log | None = None,
        feed: ChannelFeed | None = None,
        outbox: Outbox | None = None,
        memory: MemoryAccount | None = None,
    ) -> None:
        """`feed` receives whole frames before they are decoded, and may take them.

        A caller that flushes output at its own times passes its `outbox`. `memory` is the account
        that the server shares with the caller.
        """
        self.feed = feed
        self.counters = ServerCounters()
        self.addresses: dict[str, tuple[str, int]] = {}  # the bound address of each listener
        self.monotonic = clock.monotonic
        self.outbox = outbox if outbox is not None else Outbox()
        self.deadline_timer = DeadlineTimer(self._expiring, clock.monotonic, self._each_second)
        self._handler = handler
        self._limits = limits if limits is not None else ServerLimits()
        self.memory = memory if memory is not None else MemoryAccount(LIMIT_MAX)
        self._gate: ConnectionGate[Channel] = ConnectionGate(self._limits.connections)
        self._proxied: frozenset[str] = frozenset()
        self.tls = tls if tls is not None else ServerContexts(NO_TLS)
        self._log = log if log is not None else Log("remoting")
        self._quiet_log = QuietLog(self._log)
        self._listening: list[asyncio.Server] = []
        self._channels: dict[int, Channel] = {}
        self._next_id = 0
        self._emptied: asyncio.Event = asyncio.Event()
        self._is_stopping = False

    # ------------------------------------------------------------------ life

    async def start(self, listeners: Sequence[Listener]) -> None:
        """Listen on all listeners, or on none and raise ConfigurationError."""
        self._proxied = frozenset(each.name for each in listeners if each.proxy_protocol)
        for listener in listeners:
            # A Channel has all methods of a Protocol, though it is not a subclass.
            make = cast("Callable[[], asyncio.Protocol]", partial(self._make_channel, listener))
            try:
                listening = await listen(
                    make, listener.host, listener.port, backlog=self._limits.backlog
                )
            except OSError as error:
                self._stop_listening()
                raise ConfigurationError(
                    f"listener {listener.name}: cannot listen on {listener.host}:{listener.port}: "
                    f"{error.strerror or error}"
                ) from error
            self._listening += listening
            self.addresses[listener.name] = listening[0].sockets[0].getsockname()[:2]
        self.deadline_timer.start()

    @property
    def channels(self) -> Sequence[Channel]:
        return tuple(self._channels.values())

    @property
    def connection_count(self) -> int:
        return len(self._channels)

    async def stop(self, grace_seconds: float) -> None:
        """Stop accepting, finish requests in flight, close; after the grace period, close
        anyway."""
        self._is_stopping = True
        self._stop_listening()
        for channel in self.channels:
            channel.drain()
        try:
            async with asyncio.timeout(grace_seconds):
                await self._all_closed()
        except TimeoutError:
            self._log.warning(
                "closing connections with requests in flight",
                connections=len(self._channels),
                waited=f"{grace_seconds:g}s",
            )
        finally:
            # Also if `stop` is cancelled: an abort needs at most one more loop iteration.
            for channel in self.channels:
                channel.abort()
            self.deadline_timer.stop()
        await self._all_closed()

    def _stop_listening(self) -> None:
        for listening in self._listening:
            listening.close()

    async def _all_closed(self) -> None:
        self._emptied.clear()
        if self._channels:
            await self._emptied.wait()

    # ------------------------------------------------------------------ the owner of channels

    def _make_channel(self, listener: Listener) -> Channel:
        self._next_id += 1
        session = Session(self._limits.session, self.monotonic())
        tls = TlsTransport.of_server(self.tls, ProxyHeader() if listener.proxy_protocol else None)
        return Channel(self, self._next_id, listener.name, session, tls)

    def opened(self, channel: Channel, now: float) -> None:
        self.counters.accepted[channel.listener] += 1
        verdict = self._gate.enter(channel, now, is_proxied=channel.listener in self._proxied)
        self._channels[channel.id] = channel
        if self._is_stopping:
            channel.close(Reason.DRAINED)
        elif isinstance(verdict, str):
            channel.close(Reason.TOO_MANY_CONNECTIONS, verdict)
        else:
            if verdict is not None:
                verdict.close(Reason.ASKED_NOTHING, "closed to make room for another connection")
            self._handler.opened(channel, now)

    def requests(self, channel: Channel, commands: list[Command], now: float) -> None:
        self.counters.requests += len(commands)
        self._handler.requests(channel, commands, now)
        if self.memory.is_full:
            self._make_room(channel)

    def held(self, channel: Channel, more_bytes: int) -> None:
        memory = self.memory
        memory.add(channel, Kind.CONNECTIONS, more_bytes)
        if more_bytes > 0 and memory.is_over(Kind.CONNECTIONS):
            self._make_room(channel)

    def _make_room(self, channel: Channel) -> None:
        """Close the connection that holds the most, unless a recount frees enough."""
        memory = self.memory
        self._recount()
        if not memory.is_over(Kind.CONNECTIONS, ROOMY):
            return
        held = memory.largest()
        greediest = held if isinstance(held, Channel) else channel
        detail = f"it holds {memory.held_for(greediest)} bytes, see {SETTING}={memory.limit}"
        memory.write_off(greediest)
        greediest.close(Reason.MEMORY_BUDGET, detail)

    def _recount(self) -> None:
        for channel in self._channels.values():
            before = channel.held_bytes
            more = channel.recount() - before
            if more:
                self.memory.add(channel, Kind.CONNECTIONS, more)

    def closed(self, channel: Channel, ending: Ended, now: float) -> None:
        del self._channels[channel.id]
        self._gate.leave(channel)
        counters = self.counters
        counters.closed[channel.listener, ending.reason] += 1
        counters.bytes_in += channel.bytes_in
        counters.bytes_out += channel.bytes_out
        counters.unmatched_responses += channel.unmatched_responses
        if ending.reason.is_fault:
            self._quiet_log.warning(
                ending.reason.value,
                now,
                "connection closed",
                peer=channel.peer,
                listener=channel.listener,
                reason=ending.reason.value,
                detail=ending.detail,
            )
        if ending.reason is not Reason.TOO_MANY_CONNECTIONS:
            self._handler.closed(channel, ending.reason, now)
        if not self._channels:
            self._emptied.set()

    def _expiring(self) -> Sequence[Channel]:
        return self.channels

    def _each_second(self, now: float) -> None:
        self._recount()
        RESERVE.fill()
        for channel in self._gate.silent_too_long(now):
            channel.close(Reason.ASKED_NOTHING, "the peer sent no request in time")
        self._quiet_log.settle(now)
