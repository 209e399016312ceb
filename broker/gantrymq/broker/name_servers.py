"""Questions to the name servers: any of them will do, as they know the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

from gantrymq.base.errors import ConfigurationError
from gantrymq.remoting.failures import RequestError
from gantrymq.runtime.dialer import Dialer
from gantrymq.wire.command import Command


@final
class NameServers:
    """Asks over connections of its own."""

    def __init__(self, dialer: Dialer) -> None:
        self._dialer = dialer

    async def ask(
        self, command: Command, timeout_seconds: float, addresses: Iterable[str]
    ) -> Command | None:
        """What the first one that can be reached answers."""
        for address in addresses:
            try:
                return await self._dialer.connection(address).request(command, timeout_seconds)
            except (RequestError, ConfigurationError):
                continue
        return None
