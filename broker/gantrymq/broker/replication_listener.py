"""The HA port: slaves connect here, each a thin skin over a `Follower`.

Output is made in the turns of the broker, behind the store's, so that what a turn appended leaves
in its round of the loop; none is made for a slave whose network does not take it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, cast, final

from gantrymq.base.errors import ConfigurationError
from gantrymq.ha.events import Ended, Ending, FollowerEvent
from gantrymq.ha.follower import Follower
from gantrymq.ha.followers import FOLLOWERS_MAX, Followers
from gantrymq.runtime.address import format_address
from gantrymq.runtime.listening import listen
from gantrymq.runtime.logs import Log, QuietLog
from gantrymq.runtime.sweep import Sweep

# Above so much unsent output the transport asks us to pause.
WRITE_BUFFER_BYTES: Final = 256 * 1024


@final
class ReplicationListener:
    """Owner of the port and its connections. `start`, then `stop`."""

    def __init__(
        self,
        followers: Followers,
        monotonic: Callable[[], float],
        log_moves: Callable[[], None],
        log: Log,
    ) -> None:
        self.followers = followers
        self.monotonic = monotonic
        self.log_moves = log_moves
        self._connections: set[SlaveConnection] = set()
        self._listening: list[asyncio.Server] = []
        self._log = log
        self._quiet_log = QuietLog(log)
        self._sweep = Sweep(lambda: tuple(self._connections), monotonic, self._quiet_log.settle)

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Listen; where that is, as port 0 lets the system choose."""
        try:
            self._listening = await listen(lambda: SlaveConnection(self), host, port)
        except OSError as error:
            raise ConfigurationError(
                f"haListenPort: cannot listen for slaves on {host}:{port}: "
                f"{error.strerror or error}; give another haListenPort"
            ) from error
        self._sweep.start()
        address: tuple[str, int] = self._listening[0].sockets[0].getsockname()[:2]
        return address

    async def stop(self) -> None:
        """Accept nobody, and close what there is."""
        for listening in self._listening:
            listening.close()
        for connection in tuple(self._connections):
            connection.end(Ended(Ending.CLOSED, "the broker stops"))
        self._sweep.stop()

    def turn(self, now: float) -> bool:
        """What is new goes out; whether there is more to do at once."""
        for follower, ended in self.followers.turn(now):
            for connection in tuple(self._connections):
                if connection.follower is follower:
                    connection.end(ended)
        for connection in self._connections:
            connection.flush()
        return self.followers.is_due

    def opened(self, connection: SlaveConnection) -> None:
        self._connections.add(connection)
        self._log.info("slave connected", slave=connection.address)

    def closed(self, connection: SlaveConnection, ended: Ended) -> None:
        self._connections.discard(connection)
        self._say(ended, connection.address)
        self.log_moves()

    def turned_away(self, address: str) -> None:
        """There are too many connections."""
        text = f"{FOLLOWERS_MAX} connections are open already"
        self._say(Ended(Ending.GARBAGE, text), address)

    def _say(self, ended: Ended, address: str) -> None:
        line = {"slave": address, "reason": ended.ending.value, "detail": ended.text}
        say = self._quiet_log.info if ended.ending is Ending.CLOSED else self._quiet_log.warning
        say(ended.ending.value, self.monotonic(), "slave's connection closed", **line)


@final
class SlaveConnection(asyncio.Protocol):
    """One connection; the transport calls."""

    def __init__(self, owner: ReplicationListener) -> None:
        self.address = "unknown"
        self.follower: Follower | None = None
        self._ended: Ended | None = None
        self._owner = owner
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's are no subclasses of asyncio's.
        self._transport = transport = cast("asyncio.Transport", transport)
        self.address = format_address(transport.get_extra_info("peername"))
        self.follower = self._owner.followers.opened(self.address, self._owner.monotonic())
        if self.follower is None:
            self._owner.turned_away(self.address)
            transport.abort()
            return
        transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)
        self._owner.opened(self)

    def data_received(self, data: bytes) -> None:
        owner = self._owner
        if self.follower is None or self._ended is not None:
            return
        self._see(owner.followers.heard(self.follower, data, owner.monotonic()))
        owner.log_moves()

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
        owner.followers.closed(self.follower, ended.ending, owner.monotonic())
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
