"""Manages the connections of a member: incoming ones at its HA port, and outgoing ones.

Each connection does the I/O for one link of the member's core, which knows it by its number. Output
is made in the turns of the broker, and only for peers whose network accepts it. What happens before
the core learns of a connection: member_connection.py. Incoming connections are limited in number
until then.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol, final

from gantrymq.base.errors import ConfigurationError
from gantrymq.broker.links.member_connection import MemberConnection
from gantrymq.broker.links.unauthenticated_links import UnauthenticatedLinks
from gantrymq.broker.setup.link_security import LinkSecurity
from gantrymq.ha.member.member import Member
from gantrymq.ha.protocol.rate import Rate
from gantrymq.runtime.clock import Clock
from gantrymq.runtime.logs import Log, QuietLog
from gantrymq.runtime.net.address import parse_address
from gantrymq.runtime.net.deadline_timer import DeadlineTimer
from gantrymq.runtime.net.listening import listen

# A member that is up answers at once; another one may have to be asked soon.
CONNECT_SECONDS: Final = 1.0


class LinkOwner(Protocol):
    """Is notified of events of the member's links."""

    def link_changed(self) -> None:
        """A link was opened, closed, or accepts bytes again: the member's turn has to come soon."""

    def link_heard(self) -> None:
        """A link received bytes: the same, and the broker's core may have to process what the log
        gained."""

    def fail(self, error: Exception) -> None:
        """The store or the member cannot continue."""


@final
class MemberLinks:
    """The connections of one member. The host calls `start`, then `stop`, and `flush` in each
    turn."""

    def __init__(self, owner: LinkOwner, security: LinkSecurity, clock: Clock, log: Log) -> None:
        self.monotonic = clock.monotonic
        self.owner = owner
        self.last_read_ms = 0
        """Wall clock of the last bytes received on an outgoing connection."""
        self.last_write_ms = 0
        self.rate = Rate(clock.monotonic())
        """The rate of the bytes received on outgoing connections."""
        self.security = security
        self._clock = clock
        self._connections: dict[int, MemberConnection] = {}
        self._dialing: dict[int, asyncio.Task[None]] = {}
        self._is_over = False
        self._listening: list[asyncio.Server] = []
        self._log = QuietLog(log)
        self._member: Member | None = None
        self._unproven: UnauthenticatedLinks[MemberConnection] = UnauthenticatedLinks()
        self._sweep = DeadlineTimer(self._unproven.all, clock.monotonic, self._log.settle)

    @property
    def member(self) -> Member:
        assert self._member is not None
        return self._member

    async def start(self, member: Member, host: str, port: int) -> tuple[str, int]:
        """Listen; returns the actual address, as the system chooses a port for port 0."""
        self._member = member
        try:
            self._listening = await listen(lambda: MemberConnection(self), host, port)
        except OSError as error:
            raise ConfigurationError(
                f"haListenPort: cannot listen for members of the group on {host}:{port}: "
                f"{error.strerror or error}; give another haListenPort"
            ) from error
        self._sweep.start()
        address: tuple[str, int] = self._listening[0].sockets[0].getsockname()[:2]
        return address

    def end(self) -> None:
        """Stop passing received bytes to the member."""
        self._is_over = True

    async def stop(self) -> None:
        """Stop listening and close all connections."""
        self.end()
        self._sweep.stop()
        for listening in self._listening:
            listening.close()
        tasks = list(self._dialing.values())
        for task in tasks:
            task.cancel()
        for connection in (*self._connections.values(), *self._unproven.all()):
            connection.abort()
        self._connections.clear()
        await asyncio.gather(*tasks, return_exceptions=True)

    # ------------------------------------------------------------------ actions of the member

    def dial(self, number: int, address: str) -> None:
        """Connect to a member."""
        task = asyncio.get_running_loop().create_task(
            self._dial(number, address), name=f"dial member at {address}"
        )
        self._dialing[number] = task
        task.add_done_callback(lambda _: self._dialing.pop(number, None))

    def disconnect(self, number: int, reason: str) -> None:
        """Close this link, after sending the output it already has."""
        task = self._dialing.pop(number, None)
        if task is not None:
            task.cancel()
        connection = self._connections.pop(number, None)
        if connection is not None:
            peer = connection.address
            self._log.info(reason, self.monotonic(), "connection closed", peer=peer, reason=reason)
            connection.close()

    def flush(self) -> None:
        """Send the output of all links."""
        for number, connection in list(self._connections.items()):
            output = self.member.take_output(number)
            if output:
                connection.write(output)
                if connection.was_dialed:
                    self.last_write_ms = self._clock.wall_ms()

    async def _dial(self, number: int, address: str) -> None:
        connection = MemberConnection(self, number)
        try:
            cause = await self._connect(connection, address)
        except (OSError, TimeoutError, ConfigurationError) as error:
            cause = str(error) or f"no response within {CONNECT_SECONDS:g} s"
        finally:
            if not connection.has_begun:
                connection.abort()
        if cause:
            now = self.monotonic()
            self._log.info(
                f"to {address}", now, "connecting to member failed", member=address, cause=cause
            )
            self.member.closed(number, now)
            self.owner.link_changed()

    async def _connect(self, connection: MemberConnection, address: str) -> str:
        """Connect; returns why that failed if it failed without an exception, else ""."""
        host, port = parse_address(address)
        async with asyncio.timeout(CONNECT_SECONDS):
            await asyncio.get_running_loop().create_connection(lambda: connection, host, port)
            await connection.ready
        return connection.failure

    # ------------------------------------------------------------------ events of connections

    def connected(self, connection: MemberConnection) -> None:
        """An incoming connection was made, which may be a member's."""
        crowded = self._unproven.add(connection)
        if crowded is not None:
            self.turn_away(
                crowded, "the peer sent no proof, and its place was needed for another connection"
            )

    def began(self, connection: MemberConnection) -> bool:
        """Register the connection with the core; returns whether the core accepts it. An incoming
        connection gets its number here."""
        self._unproven.remove(connection)
        self.security.refresh()
        number, now = connection.number, self.monotonic()
        if number is not None:
            if number not in self.member.links:
                return False  # no longer wanted
            self.member.connected(number, now)
        else:
            number = self.member.opened(connection.address, now)
        if number is None:
            return False
        connection.number = number
        self._connections[number] = connection
        self.owner.link_changed()
        return True

    def turn_away(self, connection: MemberConnection, cause: str) -> None:
        """Close an incoming connection that is not, or does not prove to be, a member's."""
        self._unproven.remove(connection)
        peer, now = connection.address, self.monotonic()
        self._log.warning("no member", now, "connection closed", peer=peer, cause=cause)
        connection.close()

    def gone(self, connection: MemberConnection) -> None:
        """The connection ended before the core knew of it."""
        self._unproven.remove(connection)

    def received(self, connection: MemberConnection, data: bytes) -> None:
        now, number = self.monotonic(), connection.number
        assert number is not None
        if self._is_over:
            return
        if connection.was_dialed:
            self.last_read_ms = self._clock.wall_ms()
            self.rate.add(len(data), now)
        try:
            self.member.received(number, data, now)
        except Exception as error:
            self.owner.fail(error)
            return
        self.owner.link_heard()

    def held_up(self, number: int, *, is_held_up: bool) -> None:
        self.member.is_held_up(number, is_held_up=is_held_up)
        self.owner.link_changed()

    def ended(self, number: int) -> None:
        if self._connections.pop(number, None) is not None:
            self.member.closed(number, self.monotonic())
            self.owner.link_changed()
