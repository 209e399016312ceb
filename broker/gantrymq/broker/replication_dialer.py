"""A slave's connection to its master: made, lost and made again, a thin skin over a `Following`.

What comes is in our log before the next report says so. A connection that ended, however it did,
is tried again after RECONNECT_SECONDS; another address at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, cast, final

from gantrymq.base.errors import ConfigurationError
from gantrymq.ha.events import Ended, Ending, FollowingEvent
from gantrymq.ha.following import Following
from gantrymq.ha.settings import HaSettings
from gantrymq.ha.status import FollowingStatus
from gantrymq.runtime.address import parse_address
from gantrymq.runtime.clock import Clock
from gantrymq.runtime.logs import Log, QuietLog
from gantrymq.runtime.sweep import Sweep
from gantrymq.store.engine import Store
from gantrymq.store.segments import SyncFailedError

# Java's, both.
CONNECT_SECONDS: Final = 3.0
RECONNECT_SECONDS: Final = 5.0


@final
class ReplicationDialer:
    """Of one slave. `follow` may be called at any time, `stop` ends it."""

    def __init__(
        self,
        store: Store,
        settings: HaSettings,
        clock: Clock,
        log_moves: Callable[[], None],
        fail: Callable[[Exception], None],
        log: Log,
    ) -> None:
        """`fail` hears of a store that cannot go on."""
        self.clock = clock
        self.fail = fail
        self.settings = settings
        self.store = store
        self.log_moves = log_moves
        self.last_read_ms = 0
        self.last_write_ms = 0
        self._address = ""
        self._connection: MasterConnection | None = None
        self._log = log
        self._quiet_log = QuietLog(log)
        self._sweep = Sweep(self._open_ones, clock.monotonic, self._quiet_log.settle)
        self._task: asyncio.Task[None] | None = None

    def follow(self, address: str) -> None:
        """This master from now on; "" is nobody."""
        if address == self._address:
            return
        self._leave()
        self._address = address
        self.last_read_ms = self.last_write_ms = 0
        if address:
            self._sweep.start()
            self._task = asyncio.get_running_loop().create_task(
                self._run(address), name=f"follow {address}"
            )

    async def stop(self) -> None:
        """Follow nobody any more."""
        task = self._task
        self._leave()
        self._address = ""
        self._sweep.stop()
        if task is not None:
            with suppress(asyncio.CancelledError):
                await task

    def status(self) -> FollowingStatus | None:
        if not self._address:
            return None
        link = self._connection and self._connection.link
        return FollowingStatus(
            self._address,
            self.store.log.end,
            self.last_read_ms,
            self.last_write_ms,
            link.bytes_per_second(self.clock.monotonic()) if link else 0,
        )

    def _leave(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None
        if self._connection is not None:
            self._connection.end(Ended(Ending.CLOSED, "another master is followed, or none"))
            self._connection = None

    def _open_ones(self) -> Sequence[MasterConnection]:
        return () if self._connection is None else (self._connection,)

    async def _run(self, address: str) -> None:
        """Connect over and over, until cancelled."""
        while True:
            ended = await self._once(address)
            peaceful = ended.ending is Ending.CLOSED
            say = self._quiet_log.info if peaceful else self._quiet_log.warning
            say(
                ended.ending.value,
                self.clock.monotonic(),
                "not connected to the master",
                master=address,
                reason=ended.ending.value,
                detail=ended.text,
                again=f"{RECONNECT_SECONDS:g}s",
            )
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _once(self, address: str) -> Ended:
        """One connection, from its beginning to its end."""
        loop = asyncio.get_running_loop()
        connection = MasterConnection(self, loop.create_future())
        try:
            host, port = parse_address(address)
            async with asyncio.timeout(CONNECT_SECONDS):
                await loop.create_connection(lambda: connection, host, port)
        except TimeoutError:
            return Ended(Ending.CLOSED, f"nothing for {CONNECT_SECONDS:g} s")
        except OSError as error:
            return Ended(Ending.CLOSED, error.strerror or str(error))
        except ConfigurationError as error:
            return Ended(Ending.CLOSED, str(error))
        self._connection = connection
        self._log.info("following", master=address, position=self.store.log.end)
        try:
            return await connection.ended
        finally:
            if self._connection is connection:
                self._connection = None


@final
class MasterConnection(asyncio.Protocol):
    """One connection; the transport calls."""

    def __init__(self, owner: ReplicationDialer, ended: asyncio.Future[Ended]) -> None:
        self.ended = ended
        self.link: Following | None = None
        self._is_over = False
        self._owner = owner
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's are no subclasses of asyncio's.
        self._transport = transport = cast("asyncio.Transport", transport)
        if self._is_over:
            transport.abort()
            return
        owner = self._owner
        begin = owner.store.begin_copy()
        now = owner.clock.monotonic()
        self.link = Following(begin or 0, owner.settings, now, is_empty=begin is None)
        self._flush()

    def data_received(self, data: bytes) -> None:
        owner, link = self._owner, self.link
        if link is None or self._is_over:
            return
        owner.last_read_ms = owner.clock.wall_ms()
        self._see(link.receive(data, owner.clock.monotonic()))

    def connection_lost(self, error: Exception | None) -> None:
        if self.link is not None:
            self.link.closed(Ending.CLOSED, self._owner.clock.monotonic())
        self._say(Ended(Ending.CLOSED, str(error) if error else "by the master"))

    def end(self, ended: Ended) -> None:
        """It is over: what still comes is not read."""
        self._is_over = True
        self._say(ended)
        if self._transport is not None:
            self._transport.abort()

    def deadline(self) -> float | None:
        return None if self.link is None else self.link.deadline()

    def expire(self, now: float) -> None:
        if self.link is not None and not self._is_over:
            self._see(self.link.expire(now))

    def _see(self, events: Sequence[FollowingEvent]) -> None:
        for event in events:
            ended = event if isinstance(event, Ended) else self._append(event.position, event.data)
            if ended is not None:
                self.end(ended)
                return
        self._flush()

    def _append(self, position: int, data: bytes) -> Ended | None:
        """Into our log; what cannot be taken ends the connection."""
        owner, link = self._owner, self.link
        assert link is not None
        now = owner.clock.monotonic()
        try:
            refused = owner.store.append_copy(position, data, now)
        except SyncFailedError as error:
            owner.fail(error)
            return Ended(Ending.DISK, str(error))
        link.appended(owner.store.log.end, now)
        owner.log_moves()
        if refused is None:
            return None
        return Ended(Ending.DIVERGED if refused.is_diverged else Ending.DISK, refused.text)

    def _flush(self) -> None:
        if self.link is None or self._transport is None or self._is_over:
            return
        output = self.link.take_output()
        if output:
            self._owner.last_write_ms = self._owner.clock.wall_ms()
            self._transport.writelines(output)

    def _say(self, ended: Ended) -> None:
        if not self.ended.done():
            self.ended.set_result(ended)
