"""Sends requests to other servers: to one, or to several name servers until one answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

from gantrymq.base.errors import ConfigurationError
from gantrymq.remoting.failures import RequestError
from gantrymq.runtime.net.dialer import Dialer
from gantrymq.wire.command import Command


@final
class RemoteRequests:
    """A client with connections of its own."""

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
        """The answer of the first server that can be reached."""
        for address in addresses:
            answer = await self.ask(address, command, timeout_seconds)
            if isinstance(answer, Command):
                return answer
        return None
