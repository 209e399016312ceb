"""Makes outgoing connections on demand and shares each among all requests to its address.

A `Dialer` owns the connections to any number of addresses. A request connects if there is no
connection, fails at once while its address is in back-off (the caller may know another address),
and raises a `RequestError` that says whether the peer can have received the request.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, cast, final

from gantrymq.acl.signature.signature import Credentials
from gantrymq.remoting.backoff import Backoff, BackoffPolicy
from gantrymq.remoting.events import Ended
from gantrymq.remoting.failures import ConnectError, RequestTimeoutError
from gantrymq.remoting.limits import SessionLimits
from gantrymq.remoting.refusal import not_supported
from gantrymq.remoting.session import Session
from gantrymq.runtime.clock import SYSTEM_CLOCK, Clock
from gantrymq.runtime.net.address import parse_address
from gantrymq.runtime.net.channel import Channel
from gantrymq.runtime.net.deadline_timer import DeadlineTimer
from gantrymq.runtime.net.keepalive import notice_silence
from gantrymq.runtime.net.outbox import Outbox
from gantrymq.runtime.security.client_contexts import PLAIN_HINT, ClientContexts
from gantrymq.runtime.security.signing import signer_of
from gantrymq.runtime.security.tls import TlsTransport
from gantrymq.wire.codes import LanguageCode
from gantrymq.wire.command import Command

CONNECT_SECONDS: Final = 3.0  # Java's connectTimeout; includes the TLS handshake
IDLE_SECONDS: Final = 60.0  # an address without a connection is forgotten after this
LISTENER: Final = "dialled"  # the listener name of outgoing connections


class RequestHandler(Protocol):
    """Serves the requests that servers send to this program over its outgoing connections."""

    def requests(self, channel: Channel, commands: list[Command], now: float) -> None: ...


@final
class RefuseAll:
    """Refuses all requests; for programs that serve none."""

    __slots__ = ()

    def requests(self, channel: Channel, commands: list[Command], now: float) -> None:
        del now
        for command in commands:
            channel.respond(command, not_supported(command.code))


@dataclass(frozen=True, slots=True)
class DialerSettings:
    """How the connections of a dialer behave."""

    connect_seconds: float = CONNECT_SECONDS
    addresses_max: int = 4096
    """Peers announce the addresses; no cluster has more brokers. At the limit, the least recently
    used address without a connection is forgotten."""
    backoff: BackoffPolicy = field(default_factory=BackoffPolicy)
    session: SessionLimits = field(default_factory=SessionLimits)
    language: int = LanguageCode.JAVA


@final
class Dialer:
    """Owns all outgoing connections of one program. `close` ends them and their tasks."""

    def __init__(
        self,
        *,
        settings: DialerSettings | None = None,
        tls: ClientContexts | None = None,
        handler: RequestHandler | None = None,
        clock: Clock = SYSTEM_CLOCK,
        chance: Callable[[], float] = random.random,
        credentials: Credentials | None = None,
    ) -> None:
        """With credentials, all requests are signed with them."""
        self.settings = settings if settings is not None else DialerSettings()
        self.tls = tls
        self._signer = signer_of(credentials)
        self._wall_ms = clock.wall_ms
        self.backoff = Backoff(self.settings.backoff)
        self.chance = chance
        self.monotonic = clock.monotonic
        self.outbox = Outbox()
        self.deadline_timer = DeadlineTimer(self._channels, clock.monotonic, self._forget_idle)
        self._handler = handler if handler is not None else RefuseAll()
        self._connections: dict[str, Connection] = {}
        self._open: dict[int, Channel] = {}
        self._next_id = 0
        self._is_closed = False
        self.feed = None

    def connection(self, address: str) -> Connection:
        """The one connection to "host:port", made when first needed. Call this for each use.

        Raises ConnectError if connections to too many other addresses are in use.
        """
        connection = self._connections.pop(address, None)
        if connection is None:
            connection = Connection(self, address)
            self._make_room()
        self._connections[address] = connection  # ordered from least to most recently used
        connection.used_at = self.monotonic()
        return connection

    def _make_room(self) -> None:
        if len(self._connections) < self.settings.addresses_max:
            return
        for address, connection in self._connections.items():
            if not connection.is_in_use:
                del self._connections[address]
                return
        raise ConnectError(f"connections to {len(self._connections)} addresses are open already")

    def _forget_idle(self, now: float) -> None:
        idle = [
            address
            for address, connection in self._connections.items()
            if connection.used_at + IDLE_SECONDS <= now and not connection.is_in_use
        ]
        for address in idle:
            del self._connections[address]

    @property
    def hint(self) -> str:
        """What to check when an address never responds."""
        return PLAIN_HINT if self.tls is None else self.tls.hint

    def signed(self, command: Command) -> Command:
        """The command with a signature if there are credentials."""
        return command if self._signer is None else self._signer.signed(command, self._wall_ms())

    async def forget(self, address: str) -> None:
        """Close the connection to an address that is no longer needed."""
        connection = self._connections.pop(address, None)
        if connection is not None:
            await connection.close()

    async def close(self) -> None:
        self._is_closed = True
        for address in tuple(self._connections):
            await self.forget(address)
        for channel in self._channels():
            channel.close()  # of connections that were forgotten while a caller still uses them
        self.deadline_timer.stop()

    def make_channel(self, ready: asyncio.Future[None]) -> Channel:
        self._next_id += 1
        session = Session(self.settings.session, self.monotonic(), language=self.settings.language)
        tls = None if self.tls is None else TlsTransport.of_client(self.tls.context())
        return Channel(self, self._next_id, LISTENER, session, tls, ready)

    # ------------------------------------------------------------------ the owner of channels

    def opened(self, channel: Channel, now: float) -> None:
        del now
        self._open[channel.id] = channel
        if self._is_closed:
            channel.abort()
        self.deadline_timer.start()

    def requests(self, channel: Channel, commands: list[Command], now: float) -> None:
        self._handler.requests(channel, commands, now)

    def held(self, channel: Channel, more_bytes: int) -> None:
        """Does nothing: the bounds of each connection suffice, as this side chooses its peers."""

    def closed(self, channel: Channel, ending: Ended, now: float) -> None:
        del ending, now
        self._open.pop(channel.id, None)

    def _channels(self) -> Sequence[Channel]:
        return tuple(self._open.values())


@final
class Connection:
    """The path to one address, whether connected at the moment or not."""

    __slots__ = (
        "_channel",
        "_connecting",
        "_dialer",
        "_last_failure",
        "_target",
        "address",
        "used_at",
    )

    def __init__(self, dialer: Dialer, address: str) -> None:
        self.address = address
        self.used_at = 0.0
        self._target = parse_address(address)
        self._dialer = dialer
        self._channel: Channel | None = None
        self._connecting: asyncio.Task[Channel | str] | None = None
        self._last_failure = ""

    async def request(self, command: Command, timeout_s: float) -> Command:
        """The response; connecting counts against the timeout. Raises RequestError."""
        dialer = self._dialer
        now = self.used_at = dialer.monotonic()
        channel = self._channel
        if channel is None or channel.is_closing:
            channel = await self._connected(timeout_s)
            timeout_s = max(0.0, now + timeout_s - dialer.monotonic())
        return await channel.request(dialer.signed(command), timeout_s)

    async def notify(self, command: Command, timeout_s: float = CONNECT_SECONDS) -> None:
        """Send a oneway request; raises ConnectError, and does not report later failures."""
        (await self._connected(timeout_s)).notify(self._dialer.signed(command))

    @property
    def is_connected(self) -> bool:
        return self._channel is not None and not self._channel.is_closing

    @property
    def is_in_use(self) -> bool:
        return self.is_connected or self._connecting is not None

    async def close(self) -> None:
        """End the connection: requests in flight fail. The object may be used again."""
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.wait([self._connecting])
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    async def _connected(self, timeout_s: float) -> Channel:
        channel = self._channel
        if channel is not None and not channel.is_closing:
            return channel
        connecting = self._connecting
        if connecting is None:
            self._must_not_be_backing_off()
            connecting = self._connecting = asyncio.get_running_loop().create_task(
                self._connect(), name=f"connect {self.address}"
            )
            connecting.add_done_callback(self._connecting_ended)
        try:
            # Shielded, because other callers may wait for this connection. The task ends by itself.
            async with asyncio.timeout(timeout_s):
                outcome = await asyncio.shield(connecting)
        except TimeoutError:
            raise RequestTimeoutError(
                f"not connected to {self.address} in {timeout_s:g} s"
            ) from None
        except asyncio.CancelledError:
            if connecting.cancelled():  # by close(); otherwise this caller was cancelled
                raise ConnectError(f"the connection to {self.address} was closed") from None
            raise
        if isinstance(outcome, str):
            raise ConnectError(outcome)
        return outcome

    def _must_not_be_backing_off(self) -> None:
        wait_s = self._dialer.backoff.retry_at(self.address) - self._dialer.monotonic()
        if wait_s > 0:
            raise ConnectError(
                f"{self.address} will be tried again in {wait_s:.1f} s; "
                f"the last attempt failed: {self._last_failure}"
            )

    def _connecting_ended(self, task: asyncio.Task[Channel | str]) -> None:
        if self._connecting is task:
            self._connecting = None

    async def _connect(self) -> Channel | str:
        """Returns an open channel, or why there is none.

        It raises nothing, since any number of callers, or none, may await this task.
        """
        dialer = self._dialer
        dialer.deadline_timer.start()
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        channel = dialer.make_channel(ready)
        host, port = self._target
        try:
            async with asyncio.timeout(dialer.settings.connect_seconds):
                # A Channel has all methods of a Protocol, though it is not a subclass.
                protocol = cast("asyncio.Protocol", channel)
                transport, _ = await loop.create_connection(lambda: protocol, host, port)
                if not channel.is_closing:
                    notice_silence(transport.get_extra_info("socket"))
                await ready
        except TimeoutError:
            channel.abort()
            return self._failed(f"no answer for {dialer.settings.connect_seconds:g} s")
        except OSError as error:
            return self._failed(error.strerror or str(error))
        except (UnicodeError, RuntimeError) as error:
            # An invalid DNS name, or a process at its end that starts no resolver thread any more.
            channel.abort()
            return self._failed(str(error))
        except asyncio.CancelledError:
            channel.abort()
            raise
        if channel.is_closing:
            return self._failed(channel.why_closed)
        dialer.backoff.succeeded(self.address)
        self._channel = channel
        return channel

    def _failed(self, cause: str) -> str:
        dialer = self._dialer
        self._last_failure = cause
        dialer.backoff.failed(self.address, dialer.monotonic(), dialer.chance())
        return f"cannot connect to {self.address}: {cause}"
