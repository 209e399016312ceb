"""The connections of slaves, each a thin skin over a `Follower`; the port is the listener's.

A connection has no follower, and takes none of the slots for slaves, until it is admitted
(slave_admission.py); below that there may be TLS.

Output is made in the turns of the broker, behind the store's, so that what a turn appended leaves
in its round of the loop; none is made for a slave whose network does not take it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final, Protocol, final

from gantrymq.base.errors import RemoteError
from gantrymq.broker.link_security import LinkSecurity
from gantrymq.broker.unproven import UnprovenConnections
from gantrymq.ha.events import Ended, Ending, FollowerEvent
from gantrymq.ha.follower import Follower
from gantrymq.ha.followers import FOLLOWERS_MAX, Followers
from gantrymq.ha.slave_admission import SlaveAdmission
from gantrymq.runtime.address import format_address
from gantrymq.runtime.clock import Clock
from gantrymq.runtime.logs import Log, QuietLog
from gantrymq.runtime.tls import Door, DoorError

# Above so much unsent output the transport asks us to pause.
WRITE_BUFFER_BYTES: Final = 256 * 1024


class Transport(Protocol):
    """What we need of asyncio's; uvloop's are no subclasses of those."""

    def get_extra_info(self, name: str) -> object: ...

    def set_write_buffer_limits(self, high: int) -> None: ...

    def write(self, data: bytes) -> None: ...

    def writelines(self, pieces: Sequence[bytes]) -> None: ...

    def close(self) -> None: ...

    def abort(self) -> None: ...


@final
class SlaveConnections:
    """All there are, those of slaves and those that are not admitted yet."""

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
        followers: Followers,
        security: LinkSecurity,
        silence_seconds: float,
        clock: Clock,
        log_moves: Callable[[], None],
        log: Log,
    ) -> None:
        self.clock: Clock = clock
        self.followers: Followers = followers
        self.log_moves: Callable[[], None] = log_moves
        self.security: LinkSecurity = security
        self._connections: dict[SlaveConnection, None] = {}
        self._log: Log = log
        self._quiet_log: QuietLog = QuietLog(log)
        self._silence_seconds: float = silence_seconds
        self._unproven: UnprovenConnections[SlaveConnection] = UnprovenConnections()

    def all(self) -> Collection[SlaveConnection]:
        return (*self._connections, *self._unproven.all())

    def admission(self) -> SlaveAdmission:
        """For a new connection."""
        self.security.refresh()
        return self.security.admission(self._silence_seconds, self.clock.monotonic())

    def settle(self, now: float) -> None:
        """Once a second."""
        self._quiet_log.settle(now)

    def turn(self, now: float) -> bool:
        """What is new goes out; whether there is more to do at once."""
        for follower, ended in self.followers.turn(now):
            for connection in self.all():
                if connection.follower is follower:
                    connection.end(ended)
        for connection in self._connections:
            connection.flush()
        return self.followers.is_due

    def connected(self, connection: SlaveConnection) -> None:
        """It may be a slave's, or anything else."""
        crowded = self._unproven.add(connection)
        if crowded is not None:
            crowded.end(Ended(Ending.UNPROVEN, "it said nothing, and others came"))

    def admitted(self, connection: SlaveConnection, *, is_proven: bool) -> Follower | None:
        """It is a slave's; None when there are too many of those, and it is to be closed."""
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
        say(ended.ending.value, self.clock.monotonic(), "slave's connection closed", **line)


@final
class SlaveConnection:
    """One connection; the transport calls.

    For the loop it is an asyncio.Protocol, of which a compiled class cannot be a subclass.
    """

    __slots__ = (
        "_admission",
        "_door",
        "_ended",
        "_owner",
        "_transport",
        "address",
        "follower",
        "host",
    )

    def __init__(self, owner: SlaveConnections) -> None:
        self.address: str = "unknown"
        self.host: str = ""
        self.follower: Follower | None = None
        """None until it is admitted."""
        self._admission: SlaveAdmission = owner.admission()
        self._door: Door | None = owner.security.incoming()
        """None once it is known that there is no TLS."""
        self._ended: Ended | None = None
        self._owner: SlaveConnections = owner
        self._transport: Transport | None = None

    @property
    def is_sealed(self) -> bool:
        """Whether there is TLS below."""
        return self._door is not None

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
        if self._door is not None:
            data = self._pass(self._door, data)
            if not data:
                return
        if self.follower is None:
            self._ask(data)
        else:
            self._hear(self.follower, data)

    def eof_received(self) -> None:
        """The slave said goodbye; returning nothing closes our side as well."""

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

    # ------------------------------------------------------------------ for the owner and the sweep

    def flush(self) -> None:
        """Send what there is."""
        if self.follower is None or self._transport is None or self._ended is not None:
            return
        output = self.follower.take_output()
        if not output:
            return
        if self._door is None:
            self._transport.writelines(output)
        else:
            self._write(b"".join(output))

    def end(self, ended: Ended) -> None:
        """It is over; `connection_lost` comes soon."""
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

    # ------------------------------------------------------------------ inside

    def _pass(self, door: Door, data: bytes) -> bytes:
        """Through TLS, if there is any."""
        assert self._transport is not None
        try:
            data = door.receive(data)
        except DoorError as error:
            ended = Ended(Ending.UNPROVEN, self._owner.security.explain(error))
            if self.follower is None:
                self._ended = ended
                self._transport.write(door.take_output())  # the alert says why
                self._transport.close()
            else:
                self.end(ended)  # it may not read what is on its way
            return b""
        said = door.take_output()
        if said:
            self._transport.write(said)
        if door.is_plain:
            self._door = None
        if door.is_finished:
            self.end(Ended(Ending.CLOSED, "by the slave"))
            return b""
        return data

    def _ask(self, data: bytes) -> None:
        """Nothing of the log leaves, and nothing counts, before it is admitted."""
        admission = self._admission
        try:
            said = admission.receive(data, b"" if self._door is None else self._door.channel)
        except RemoteError as error:
            self.end(Ended(Ending.UNPROVEN, str(error)))
            return
        if not admission.is_admitted:
            self._write(said)
            return
        self.follower = self._owner.admitted(self, is_proven=admission.is_proven)
        if self.follower is None:
            self.end(Ended(Ending.REFUSED, f"{FOLLOWERS_MAX} slaves are connected already"))
            return
        self._write(said)
        self._hear(self.follower, admission.first)

    def _hear(self, follower: Follower, data: bytes) -> None:
        owner = self._owner
        self._see(owner.followers.heard(follower, data, owner.clock.monotonic()))
        owner.log_moves()

    def _write(self, data: bytes) -> None:
        if not data or self._transport is None:
            return
        if self._door is None:
            self._transport.write(data)
        else:
            self._transport.writelines(self._door.encrypt([data]))

    def _see(self, events: Sequence[FollowerEvent]) -> None:
        for event in events:
            if isinstance(event, Ended):
                self.end(event)
