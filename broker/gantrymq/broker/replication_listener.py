"""The HA port: slaves connect here."""

from __future__ import annotations

import asyncio
from typing import cast, final

from gantrymq.base.errors import ConfigurationError
from gantrymq.broker.slave_connections import SlaveConnection, SlaveConnections
from gantrymq.ha.events import Ended, Ending
from gantrymq.runtime.listening import listen
from gantrymq.runtime.sweep import Sweep


@final
class ReplicationListener:
    """Owner of the port. `start`, then `stop`, which ends the connections as well."""

    def __init__(self, connections: SlaveConnections) -> None:
        self._connections = connections
        self._listening: list[asyncio.Server] = []
        self._sweep = Sweep(connections.all, connections.clock.monotonic, connections.settle)

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Listen; where that is, as port 0 lets the system choose."""
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
        # It is one in all but name.
        return cast("asyncio.Protocol", SlaveConnection(self._connections))

    async def stop(self) -> None:
        """Accept nobody, and close what there is."""
        for listening in self._listening:
            listening.close()
        for connection in self._connections.all():
            connection.end(Ended(Ending.CLOSED, "the broker stops"))
        self._sweep.stop()
