"""Keeps a slave with a fixed role connected to its master.

A connection that has ended for any reason is retried after RECONNECT_SECONDS; a new address is
dialed at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, cast, final

from gantrymq.base.errors import ConfigurationError
from gantrymq.broker.links.master_connection import Copier, MasterConnection
from gantrymq.ha.protocol.events import Ended, Ending
from gantrymq.ha.status import FollowingStatus
from gantrymq.runtime.logs import Log, QuietLog
from gantrymq.runtime.net.address import parse_address
from gantrymq.runtime.net.deadline_timer import DeadlineTimer

# Java's values.
CONNECT_SECONDS: Final = 3.0
RECONNECT_SECONDS: Final = 5.0


@final
class ReplicationDialer:
    """The link of one slave to its master. `follow` may be called at any time; `stop` ends it."""

    def __init__(self, copier: Copier, log: Log) -> None:
        self._address = ""
        self._clock = clock = copier.clock
        self._connection: MasterConnection | None = None
        self._copier = copier
        self._log = log
        self._quiet_log = QuietLog(log)
        self._sweep = DeadlineTimer(self._open_ones, clock.monotonic, self._quiet_log.settle)
        self._task: asyncio.Task[None] | None = None

    def follow(self, address: str) -> None:
        """Follow this master from now on; "" means none."""
        if address == self._address:
            return
        self._leave()
        self._address = address
        self._copier.last_read_ms = self._copier.last_write_ms = 0
        if address:
            self._sweep.start()
            self._task = asyncio.get_running_loop().create_task(
                self._run(address), name=f"follow {address}"
            )

    async def stop(self) -> None:
        """Stop following a master."""
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
        copier, link = self._copier, self._connection and self._connection.link
        return FollowingStatus(
            self._address,
            copier.store.log.end,
            copier.last_read_ms,
            copier.last_write_ms,
            link.bytes_per_second(self._clock.monotonic()) if link else 0,
        )

    def _leave(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None
        if self._connection is not None:
            self._connection.end(Ended(Ending.CLOSED, "this slave follows another master, or none"))
            self._connection = None

    def _open_ones(self) -> Sequence[MasterConnection]:
        return () if self._connection is None else (self._connection,)

    async def _run(self, address: str) -> None:
        """Connect again and again, until cancelled."""
        while True:
            ended = await self._once(address)
            peaceful = ended.ending is Ending.CLOSED
            say = self._quiet_log.info if peaceful else self._quiet_log.warning
            say(
                ended.ending.value,
                self._clock.monotonic(),
                "not connected to the master",
                master=address,
                reason=ended.ending.value,
                detail=ended.text,
                again=f"{RECONNECT_SECONDS:g}s",
            )
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _once(self, address: str) -> Ended:
        """Run one connection from beginning to end; returns why it ended."""
        loop = asyncio.get_running_loop()
        begun: asyncio.Future[None] = loop.create_future()
        connection = MasterConnection(self._copier, begun, loop.create_future())
        try:
            host, port = parse_address(address)
            async with asyncio.timeout(CONNECT_SECONDS):
                # A compiled class cannot inherit from asyncio.Protocol, but implements it.
                protocol = cast("asyncio.Protocol", connection)
                await loop.create_connection(lambda: protocol, host, port)
        except TimeoutError:
            return Ended(Ending.CLOSED, f"no connection within {CONNECT_SECONDS:g} s")
        except OSError as error:
            return Ended(Ending.CLOSED, error.strerror or str(error))
        except ConfigurationError as error:
            return Ended(Ending.CLOSED, str(error))
        self._connection = connection
        try:
            await begun
            if not connection.ended.done():
                position = self._copier.store.log.end
                self._log.info("following", master=address, position=position)
            return await connection.ended
        finally:
            if self._connection is connection:
                self._connection = None
