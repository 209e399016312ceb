"""Manages the connections of slaves to the HA port of a master with a fixed role.

A connection has no follower, and occupies none of the slots for slaves, until it is admitted
(slave_admission.py). It may use TLS. Output is made in the turns of the broker, after the store's,
so that what a turn appended is sent in the same iteration of the event loop; none is made for a
slave whose network does not accept it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final, Protocol, final

from gantrymq.base.errors import RemoteError
from gantrymq.broker.links.unauthenticated_links import UnauthenticatedLinks
from gantrymq.broker.setup.link_security import LinkSecurity
from gantrymq.ha.classic.log_sender import LogSender
from gantrymq.ha.classic.log_senders import FOLLOWERS_MAX, LogSenders
from gantrymq.ha.classic.slave_admission import SlaveAdmission
from gantrymq.ha.protocol.events import Ended, Ending, LogSenderEvent
from gantrymq.runtime.clock import Clock
from gantrymq.runtime.logs import Log, QuietLog
from gantrymq.runtime.net.address import format_address
from gantrymq.runtime.security.tls import TlsTransport, TlsTransportError

# Above this much unsent output the transport pauses writing.
WRITE_BUFFER_BYTES: Final = 256 * 1024


class Transport(Protocol):
    """The part of asyncio's transports that is needed; uvloop's are not subclasses of those."""

    def get_extra_info(self, name: str) -> object: ...

    def set_write_buffer_limits(self, high: int) -> None: ...

    def write(self, data: bytes) -> None: ...

    def writelines(self, pieces: Sequence[bytes]) -> None: ...

    def close(self) -> None: ...

    def abort(self) -> None: ...


@final
class SlaveConnections:
    """All connections: those of slaves and those that are not admitted yet."""

    __slots__ = (
        "_connections",
        "_log",
        "_quiet_log",
        "_silence_seconds",
        "_unproven",
        "clock",
        "followers",
        "log_moves",
        "security",
    )

    def __init__(
        self,
        followers: LogSenders,
        security: LinkSecurity,
        silence_seconds: float,
        clock: Clock,
        log_moves: Callable[[], None],
        log: Log,
    ) -> None:
        self.clock: Clock = clock
        self.followers: LogSenders = followers
        self.log_moves: Callable[[], None] = log_moves
        self.security: LinkSecurity = security
        self._connections: dict[SlaveConnection, None] = {}
        self._log: Log = log
        self._quiet_log: QuietLog = QuietLog(log)
        self._silence_seconds: float = silence_seconds
        self._unproven: UnauthenticatedLinks[SlaveConnection] = UnauthenticatedLinks()

    def all(self) -> Collection[SlaveConnection]:
        return (*self._connections, *self._unproven.all())

    def admission(self) -> SlaveAdmission:
        """The admission of a new connection."""
        self.security.refresh()
        return self.security.admission(self._silence_seconds, self.clock.monotonic())

    def settle(self, now: float) -> None:
        """Called once a second."""
        self._quiet_log.settle(now)

    def turn(self, now: float) -> bool:
        """Send what is new; returns whether there is more to do at once."""
        for follower, ended in self.followers.turn(now):
            for connection in self.all():
                if connection.follower is follower:
                    connection.end(ended)
        for connection in self._connections:
            connection.flush()
        return self.followers.is_due

    def connected(self, connection: SlaveConnection) -> None:
        """A connection was made, which may not be a slave's."""
        crowded = self._unproven.add(connection)
        if crowded is not None:
            crowded.end(
                Ended(
                    Ending.UNPROVEN,
                    "the peer sent no proof, and its place was needed for another connection",
                )
            )

    def admitted(self, connection: SlaveConnection, *, is_proven: bool) -> LogSender | None:
        """Make the connection a slave's; None if there are too many slaves and it has to be
        closed."""
        self._unproven.remove(connection)
        follower = self.followers.opened(connection.address, self.clock.monotonic())
        if follower is not None:
            self._connections[connection] = None
            about = {"slave": connection.address, "proven": is_proven, "tls": connection.is_sealed}
            self._log.info("slave connected", **about)
        return follower

    def closed(self, connection: SlaveConnection, ended: Ended) -> None:
        self._unproven.remove(connection)
        self._connections.pop(connection, None)
        self._say(ended, connection.address)
        self.log_moves()

    def _say(self, ended: Ended, address: str) -> None:
        line = {"slave": address, "reason": ended.ending.value, "detail": ended.text}
        say = self._quiet_log.info if ended.ending is Ending.CLOSED else self._quiet_log.warning
        say(ended.ending.value, self.clock.monotonic(), "slave disconnected", **line)


@final
class SlaveConnection:
    """One connection; the event loop calls it.

    It implements asyncio.Protocol without inheriting from it, which a compiled class cannot.
    """

    __slots__ = (
        "_admission",
        "_ended",
        "_owner",
        "_tls",
        "_transport",
        "address",
        "follower",
        "host",
    )

    def __init__(self, owner: SlaveConnections) -> None:
        self.address: str = "unknown"
        self.host: str = ""
        self.follower: LogSender | None = None
        """None until the connection is admitted."""
        self._admission: SlaveAdmission = owner.admission()
        self._tls: TlsTransport | None = owner.security.incoming()
        """None once it is known that the connection uses no TLS."""
        self._ended: Ended | None = None
        self._owner: SlaveConnections = owner
        self._transport: Transport | None = None

    @property
    def is_sealed(self) -> bool:
        """Whether the connection uses TLS."""
        return self._tls is not None

    # ------------------------------------------------------------------ called by the event loop

    def connection_made(self, transport: Transport) -> None:
        self._transport = transport
        self.address = format_address(transport.get_extra_info("peername"))
        self.host = self.address.rpartition(":")[0]
        transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)
        self._owner.connected(self)

    def data_received(self, data: bytes) -> None:
        if self._ended is not None:
            return
        if self._tls is not None:
            data = self._pass(self._tls, data)
            if not data:
                return
        if self.follower is None:
            self._ask(data)
        else:
            self._hear(self.follower, data)

    def eof_received(self) -> None:
        """The slave closed its side; returning None closes this side as well."""

    def pause_writing(self) -> None:
        if self.follower is not None:
            self.follower.is_held_up = True

    def resume_writing(self) -> None:
        if self.follower is not None:
            self.follower.is_held_up = False
            self._owner.log_moves()

    def connection_lost(self, error: Exception | None) -> None:
        ended = self._ended or Ended(Ending.CLOSED, str(error) if error else "by the slave")
        owner = self._owner
        if self.follower is not None:
            owner.followers.closed(self.follower, ended.ending, owner.clock.monotonic())
        owner.closed(self, ended)

    # ------------------------------------------------------------------ called by owner and timer

    def flush(self) -> None:
        """Send the available output."""
        if self.follower is None or self._transport is None or self._ended is not None:
            return
        output = self.follower.take_output()
        if not output:
            return
        if self._tls is None:
            self._transport.writelines(output)
        else:
            self._write(b"".join(output))

    def end(self, ended: Ended) -> None:
        """End the connection; the event loop calls `connection_lost` soon."""
        if self._ended is None and self._transport is not None:
            self._ended = ended
            self._transport.abort()

    def deadline(self) -> float | None:
        return self._admission.deadline if self.follower is None else self.follower.deadline()

    def expire(self, now: float) -> None:
        if self.follower is None:
            self.end(Ended(Ending.UNPROVEN, self._admission.too_late))
        else:
            self._see(self.follower.expire(now))
            self.flush()

    # ------------------------------------------------------------------ internals

    def _pass(self, tls: TlsTransport, data: bytes) -> bytes:
        """Decrypt received bytes, if the connection uses TLS."""
        assert self._transport is not None
        try:
            data = tls.receive(data)
        except TlsTransportError as error:
            ended = Ended(Ending.UNPROVEN, self._owner.security.explain(error))
            if self.follower is None:
                self._ended = ended
                self._transport.write(tls.take_output())  # the alert has the reason
                self._transport.close()
            else:
                self.end(ended)  # pending log bytes must not reach it
            return b""
        said = tls.take_output()
        if said:
            self._transport.write(said)
        if tls.is_plain:
            self._tls = None
        if tls.is_finished:
            self.end(Ended(Ending.CLOSED, "by the slave"))
            return b""
        return data

    def _ask(self, data: bytes) -> None:
        """Process the handshake: before admission no log bytes are sent, and no acknowledgement
        counts."""
        admission = self._admission
        try:
            said = admission.receive(data, b"" if self._tls is None else self._tls.channel)
        except RemoteError as error:
            self.end(Ended(Ending.UNPROVEN, str(error)))
            return
        if not admission.is_admitted:
            self._write(said)
            return
        self.follower = self._owner.admitted(self, is_proven=admission.is_proven)
        if self.follower is None:
            self.end(
                Ended(
                    Ending.REFUSED,
                    f"this master already has {FOLLOWERS_MAX} slaves, which is the limit",
                )
            )
            return
        self._write(said)
        self._hear(self.follower, admission.first)

    def _hear(self, follower: LogSender, data: bytes) -> None:
        owner = self._owner
        self._see(owner.followers.heard(follower, data, owner.clock.monotonic()))
        owner.log_moves()

    def _write(self, data: bytes) -> None:
        if not data or self._transport is None:
            return
        if self._tls is None:
            self._transport.write(data)
        else:
            self._transport.writelines(self._tls.encrypt([data]))

    def _see(self, events: Sequence[LogSenderEvent]) -> None:
        for event in events:
            if isinstance(event, Ended):
                self.end(event)
