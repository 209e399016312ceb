"""Questions to other servers: one of them, or whichever of several name servers answers first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

from gantrymq.base.errors import ConfigurationError
from gantrymq.remoting.failures import RequestError
from gantrymq.runtime.dialer import Dialer
from gantrymq.wire.command import Command


@final
class Peers:
    """Asks over connections of its own."""

    def __init__(self, dialer: Dialer) -> None:
        self._dialer = dialer

    async def ask(self, address: str, command: Command, timeout_seconds: float) -> Command | str:
        """The response, or why there is none."""
        try:
            return await self._dialer.connection(address).request(command, timeout_seconds)
        except (RequestError, ConfigurationError) as error:
            return str(error)

    async def ask_any(
        self, addresses: Iterable[str], command: Command, timeout_seconds: float
    ) -> Command | None:
        """What the first one that can be reached answers."""
        for address in addresses:
            answer = await self.ask(address, command, timeout_seconds)
            if isinstance(answer, Command):
                return answer
        return None
