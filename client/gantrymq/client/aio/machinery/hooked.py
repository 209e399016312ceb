"""Wraps links so that the user's request hooks run before each request and after each response."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from gantrymq.client.aio.machinery.environment import Link, Links
from gantrymq.client.core.instance.hooks import RequestHook
from gantrymq.wire.command import Command


@final
class HookedLinks:
    """Wraps the links of a client that has request hooks."""

    def __init__(self, links: Links, hooks: Sequence[RequestHook]) -> None:
        self._links = links
        self._hooks = tuple(hooks)

    def connection(self, address: str) -> Link:
        return _HookedLink(self._links.connection(address), address, self._hooks)

    async def close(self) -> None:
        await self._links.close()


@final
class _HookedLink:
    """Wraps one link; an exception of a hook prevents the request from being sent."""

    def __init__(self, link: Link, address: str, hooks: tuple[RequestHook, ...]) -> None:
        self._link = link
        self._address = address
        self._hooks = hooks

    async def request(self, command: Command, timeout_s: float) -> Command:
        self._before(command)
        response = await self._link.request(command, timeout_s)
        for hook in self._hooks:
            hook.after_response(self._address, command, response)
        return response

    async def notify(self, command: Command) -> None:
        self._before(command)
        await self._link.notify(command)

    def _before(self, command: Command) -> None:
        for hook in self._hooks:
            hook.before_request(self._address, command)
