"""One client id on asyncio: its connections, the driver of its flows, the instance they share.

Producers and consumers of the same settings on the same loop share one client, as Java's do; it
begins with the first of them and ends with the last.
"""

from __future__ import annotations

import asyncio
import logging
import os
import warnings
import weakref
from dataclasses import dataclass, replace
from typing import Any, Final, final

from gantrymq.client.aio.driver import Driver
from gantrymq.client.aio.hooked import HookedLinks
from gantrymq.client.aio.message_ids import UniqueIds
from gantrymq.client.aio.process import own_address, process_name
from gantrymq.client.aio.whole_end import to_its_end
from gantrymq.client.aio.world import REAL, Identity, Respond, World
from gantrymq.client.core.instance import Instance
from gantrymq.client.core.name_servers import NameServers
from gantrymq.client.core.namespace_fields import NamespaceFields
from gantrymq.client.core.ports import Ports
from gantrymq.client.core.settings import DEFAULT_INSTANCE, ClientSettings
from gantrymq.remoting.refusal import failed
from gantrymq.wire.command import Command

log: Final = logging.getLogger("gantrymq.client")


@dataclass(frozen=True, slots=True)
class ClientKey:
    """What members must have in common to share a client."""

    settings: ClientSettings
    identity: Identity = Identity()  # noqa: RUF009 - frozen


@final
class Client:
    """Made by `join`, or for itself alone. `enter`, then `leave`."""

    def __init__(self, key: ClientKey, world: World = REAL) -> None:
        self._key = key
        self._members = 0
        self._is_started = False
        clock = world.clock
        settings = key.settings
        if not settings.client_ip:
            settings = replace(settings, client_ip=own_address())
        self.world = world
        self._links = world.links(key.identity, self._serve)
        hooks = key.identity.request_hooks
        if settings.namespace_v2:
            hooks = (NamespaceFields(settings.namespace_v2), *hooks)
        if hooks:
            self._links = HookedLinks(self._links, hooks)
        self._driver = Driver(self._links, world, _flow_failed)
        self.run = self._driver.run
        """Runs a flow of the core: what it returns, or raises."""
        self.must_be_here = self._driver.must_be_here
        self.must_be_of_this_process = self._driver.must_be_of_this_process
        self.orphan = self._driver.orphan
        chance = world.chance
        ids = UniqueIds(clock)
        ports = Ports(clock, self._driver.start, chance, ids.make, ids.make_many, _say)
        timeout_s = settings.api_timeout_s
        url = settings.name_server_url
        names = NameServers(settings.name_servers, chance(1 << 16), timeout_s, url)
        client_id = settings.client_id(process_name())
        self.instance = Instance(settings, client_id, ports, names)

        _all.add(self)

    def enter(self) -> None:
        """Once per member, on the loop; the first one begins the work."""
        self.must_be_here()
        self._members += 1
        if not self._is_started:
            self._is_started = True
            self.instance.start()

    async def leave(self) -> None:
        """Once per member; the last one ends it all."""
        self._members -= 1
        if self._members > 0:
            return
        _shared.pop((id(asyncio.get_running_loop()), self._key), None)
        self.instance.stop()
        await to_its_end(self._end(asyncio.current_task()))

    async def _end(self, caller: asyncio.Task[Any] | None) -> None:
        try:
            await self._driver.close(caller)
        finally:
            await self._links.close()

    def warn_unclosed(self, owner: object, kind: str) -> None:
        """The last one who knew the owner has forgotten it."""
        if not self._driver.is_of_parent:
            text = f"unclosed {kind} of {self.instance.client_id}: use `async with`, or close it"
            warnings.warn(text, ResourceWarning, stacklevel=2, source=owner)

    def _serve(self, address: str, request: Command, respond: Respond) -> None:
        self._driver.start(self._answer(address, request, respond), f"request {request.code}")

    async def _answer(self, address: str, request: Command, respond: Respond) -> None:
        answer: Command | None = None
        try:
            answer = await self.instance.serve(address, request)
        except Exception as failure:
            answer = failed(f"the client could not do it: {failure}")
            raise
        finally:
            respond(None if request.is_oneway else answer)


# Of this process, by the loop they live on. A child of a fork starts with none of them.
_shared: dict[tuple[int, ClientKey], Client] = {}
_all: weakref.WeakSet[Client] = weakref.WeakSet()


def _forked() -> None:
    _shared.clear()
    for client in tuple(_all):
        client.orphan()
    _all.clear()


os.register_at_fork(after_in_child=_forked)


def join(settings: ClientSettings, identity: Identity, world: World = REAL) -> Client:
    """The client for these settings, on the running loop."""
    key = ClientKey(settings, identity)
    if world is not REAL or settings.instance_name == DEFAULT_INSTANCE:
        return Client(key, world)
    place = id(asyncio.get_running_loop()), key
    client = _shared.get(place)
    if client is None:
        client = _shared[place] = Client(key, world)
    return client


def _say(line: str, error: Exception | None = None) -> None:
    log.warning("%s", line, exc_info=error)


def _flow_failed(name: str, failure: Exception) -> None:
    log.error("%s ended by an error", name, exc_info=failure)
