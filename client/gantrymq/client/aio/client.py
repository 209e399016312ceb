"""Owns the connections, the flow driver and the shared instance of one client id on asyncio.

Producers and consumers with equal settings and an explicit instance name share one client per event
loop, as in Java. It starts with the first member and ends with the last.
"""

from __future__ import annotations

import asyncio
import logging
import os
import warnings
import weakref
from dataclasses import dataclass, replace
from typing import Any, Final, final

from gantrymq.client.aio.machinery.complete_close import to_its_end
from gantrymq.client.aio.machinery.driver import Driver
from gantrymq.client.aio.machinery.environment import REAL, Environment, Identity, Respond
from gantrymq.client.aio.machinery.hooked import HookedLinks
from gantrymq.client.aio.machinery.message_ids import UniqueIds
from gantrymq.client.aio.machinery.process import own_address, process_name
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.instance.name_servers import NameServers
from gantrymq.client.core.instance.settings import DEFAULT_INSTANCE, ClientSettings
from gantrymq.client.core.message.namespace_fields import NamespaceFields
from gantrymq.client.core.ports import Ports
from gantrymq.remoting.refusal import failed
from gantrymq.wire.command import Command

log: Final = logging.getLogger("gantrymq.client")


@dataclass(frozen=True, slots=True)
class ClientKey:
    """What producers and consumers must have in common to share a client."""

    settings: ClientSettings
    identity: Identity = Identity()  # noqa: RUF009 - frozen


@final
class Client:
    """The client of one client id, made by `join`, or by Admin for itself alone. `enter`, then
    `leave`."""

    def __init__(self, key: ClientKey, environment: Environment = REAL) -> None:
        self._key = key
        self._members = 0
        self._is_started = False
        clock = environment.clock
        settings = key.settings
        if not settings.client_ip:
            settings = replace(settings, client_ip=own_address())
        self.environment = environment
        self._links = environment.links(key.identity, self._serve)
        hooks = key.identity.request_hooks
        if settings.namespace_v2:
            hooks = (NamespaceFields(settings.namespace_v2), *hooks)
        if hooks:
            self._links = HookedLinks(self._links, hooks)
        self._driver = Driver(self._links, environment, _flow_failed)
        self.run = self._driver.run
        """Runs a flow of the core: returns or raises what the flow does."""
        self.must_be_here = self._driver.must_be_here
        self.must_be_of_this_process = self._driver.must_be_of_this_process
        self.orphan = self._driver.orphan
        chance = environment.chance
        ids = UniqueIds(clock)
        ports = Ports(clock, self._driver.start, chance, ids.make, ids.make_many, _warn)
        timeout_s = settings.api_timeout_s
        url = settings.name_server_url
        names = NameServers(settings.name_servers, chance(1 << 16), timeout_s, url)
        client_id = settings.client_id(process_name())
        self.instance = Instance(settings, client_id, ports, names)

        _all.add(self)

    def enter(self) -> None:
        """Called once per member on the event loop; the first call starts the instance."""
        self.must_be_here()
        self._members += 1
        if not self._is_started:
            self._is_started = True
            self.instance.start()

    async def leave(self) -> None:
        """Called once per member; the last call stops the instance and closes the connections."""
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
        """Warn that the owner was garbage collected without being closed."""
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


# The clients of this process, by event loop and key. A forked child starts with none of them.
_shared: dict[tuple[int, ClientKey], Client] = {}
_all: weakref.WeakSet[Client] = weakref.WeakSet()


def _forked() -> None:
    _shared.clear()
    for client in tuple(_all):
        client.orphan()
    _all.clear()


os.register_at_fork(after_in_child=_forked)


def join(settings: ClientSettings, identity: Identity, environment: Environment = REAL) -> Client:
    """Return the client for these settings on the running loop: a shared one if the instance is
    named."""
    key = ClientKey(settings, identity)
    if environment is not REAL or settings.instance_name == DEFAULT_INSTANCE:
        return Client(key, environment)
    place = id(asyncio.get_running_loop()), key
    client = _shared.get(place)
    if client is None:
        client = _shared[place] = Client(key, environment)
    return client


def _warn(line: str, error: Exception | None = None) -> None:
    log.warning("%s", line, exc_info=error)


def _flow_failed(name: str, failure: Exception) -> None:
    log.error("task failed name=%s", name, exc_info=failure)
