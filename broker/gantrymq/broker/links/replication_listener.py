"""Listens on the HA port of a master with a fixed role, where slaves connect."""

from __future__ import annotations

import asyncio
from typing import cast, final

from gantrymq.base.errors import ConfigurationError
from gantrymq.broker.links.slave_connections import SlaveConnection, SlaveConnections
from gantrymq.ha.protocol.events import Ended, Ending
from gantrymq.runtime.net.deadline_timer import DeadlineTimer
from gantrymq.runtime.net.listening import listen


@final
class ReplicationListener:
    """Owns the HA port. The server calls `start`, then `stop`, which also closes the
    connections."""

    def __init__(self, connections: SlaveConnections) -> None:
        self._connections = connections
        self._listening: list[asyncio.Server] = []
        self._sweep = DeadlineTimer(
            connections.all, connections.clock.monotonic, connections.settle
        )

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Listen; returns the actual address, as the system chooses a port for port 0."""
        try:
            self._listening = await listen(self._accept, host, port)
        except OSError as error:
            raise ConfigurationError(
                f"haListenPort: cannot listen for slaves on {host}:{port}: "
                f"{error.strerror or error}; give another haListenPort"
            ) from error
        self._sweep.start()
        address: tuple[str, int] = self._listening[0].sockets[0].getsockname()[:2]
        return address

    def _accept(self) -> asyncio.Protocol:
        # A compiled class cannot inherit from asyncio.Protocol, but implements it.
        return cast("asyncio.Protocol", SlaveConnection(self._connections))

    async def stop(self) -> None:
        """Stop listening and close all connections."""
        for listening in self._listening:
            listening.close()
        for connection in self._connections.all():
            connection.end(Ended(Ending.CLOSED, "the broker stops"))
        self._sweep.stop()
