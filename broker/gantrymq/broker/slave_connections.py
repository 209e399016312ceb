"""The connections of slaves, each a thin skin over a `Follower`; the port is the listener's.

Output is made in the turns of the broker, behind the store's, so that what a turn appended leaves
in its round of the loop; none is made for a slave whose network does not take it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final, Protocol, final

from gantrymq.ha.events import Ended, Ending, FollowerEvent
from gantrymq.ha.follower import Follower
from gantrymq.ha.followers import FOLLOWERS_MAX, Followers
from gantrymq.runtime.address import format_address
from gantrymq.runtime.clock import Clock
from gantrymq.runtime.logs import Log, QuietLog

# Above so much unsent output the transport asks us to pause.
WRITE_BUFFER_BYTES: Final = 256 * 1024


class Transport(Protocol):
    """What we need of asyncio's; uvloop's are no subclasses of those."""

    def get_extra_info(self, name: str) -> object: ...

    def set_write_buffer_limits(self, high: int) -> None: ...

    def writelines(self, pieces: Sequence[bytes]) -> None: ...

    def abort(self) -> None: ...


@final
class SlaveConnections:
    """All there are."""

    __slots__ = ("_connections", "_log", "_quiet_log", "clock", "followers", "log_moves")

    def __init__(
        self, followers: Followers, clock: Clock, log_moves: Callable[[], None], log: Log
    ) -> None:
        self.clock: Clock = clock
        self.followers: Followers = followers
        self.log_moves: Callable[[], None] = log_moves
        self._connections: dict[SlaveConnection, None] = {}
        self._log: Log = log
        self._quiet_log: QuietLog = QuietLog(log)

    def all(self) -> Collection[SlaveConnection]:
        return tuple(self._connections)

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

    def opened(self, connection: SlaveConnection) -> None:
        self._connections[connection] = None
        self._log.info("slave connected", slave=connection.address)

    def closed(self, connection: SlaveConnection, ended: Ended) -> None:
        self._connections.pop(connection, None)
        self._say(ended, connection.address)
        self.log_moves()

    def turned_away(self, address: str) -> None:
        """There are too many connections."""
        text = f"{FOLLOWERS_MAX} connections are open already"
        self._say(Ended(Ending.GARBAGE, text), address)

    def _say(self, ended: Ended, address: str) -> None:
        line = {"slave": address, "reason": ended.ending.value, "detail": ended.text}
        say = self._quiet_log.info if ended.ending is Ending.CLOSED else self._quiet_log.warning
        say(ended.ending.value, self.clock.monotonic(), "slave's connection closed", **line)


@final
class SlaveConnection:
    """One connection; the transport calls.

    For the loop it is an asyncio.Protocol, of which a compiled class cannot be a subclass.
    """

    __slots__ = ("_ended", "_owner", "_transport", "address", "follower")

    def __init__(self, owner: SlaveConnections) -> None:
        self.address: str = "unknown"
        self.follower: Follower | None = None
        self._ended: Ended | None = None
        self._owner: SlaveConnections = owner
        self._transport: Transport | None = None

    def connection_made(self, transport: Transport) -> None:
        self._transport = transport
        self.address = format_address(transport.get_extra_info("peername"))
        owner = self._owner
        self.follower = owner.followers.opened(self.address, owner.clock.monotonic())
        if self.follower is None:
            owner.turned_away(self.address)
            transport.abort()
            return
        transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)
        owner.opened(self)

    def data_received(self, data: bytes) -> None:
        owner = self._owner
        if self.follower is None or self._ended is not None:
            return
        self._see(owner.followers.heard(self.follower, data, owner.clock.monotonic()))
        owner.log_moves()

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
        if self.follower is None:
            return
        ended = self._ended or Ended(Ending.CLOSED, str(error) if error else "by the slave")
        owner = self._owner
        owner.followers.closed(self.follower, ended.ending, owner.clock.monotonic())
        owner.closed(self, ended)

    def flush(self) -> None:
        """Send what there is."""
        if self.follower is None or self._transport is None or self._ended is not None:
            return
        output = self.follower.take_output()
        if output:
            self._transport.writelines(output)

    def end(self, ended: Ended) -> None:
        """It is over; `connection_lost` comes soon."""
        if self._ended is None and self._transport is not None:
            self._ended = ended
            self._transport.abort()

    def deadline(self) -> float | None:
        return None if self.follower is None else self.follower.deadline()

    def expire(self, now: float) -> None:
        if self.follower is not None:
            self._see(self.follower.expire(now))
            self.flush()

    def _see(self, events: Sequence[FollowerEvent]) -> None:
        for event in events:
            if isinstance(event, Ended):
                self.end(event)
