"""Registers the broker with its name servers, each in its own task, so that none delays another.

It registers at the start, again after ten seconds, then every registerNameServerPeriod, and at once
when topics change. A failed registration is retried soon: the name server may be starting, and
clients find the broker only when it is registered. The body is encoded once for all name servers:
the JSON of the topics is that of topics.json, which is kept entry by entry. A body that has to be
built from scratch is built in a thread.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Final, final

from isal.isal_zlib import crc32

from gantrymq.broker.core.state import State
from gantrymq.broker.peers.remote_requests import RemoteRequests
from gantrymq.runtime.logs import Log
from gantrymq.runtime.net.dialer import Dialer
from gantrymq.wire.bodies.registration import RegisterBrokerBody
from gantrymq.wire.bodies.shared import Permission
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.route import (
    EPOCH_FIELD,
    RegisterBrokerRequest,
    RegisterBrokerResponse,
    UnregisterBrokerRequest,
)

SECOND_SECONDS: Final = 10.0

# The delay after a failure; doubled each time, up to SECOND_SECONDS.
RETRY_SECONDS: Final = 0.25

UNREGISTER_SECONDS: Final = 3.0

# Topics that are created in quick succession are registered together.
GATHER_SECONDS: Final = 0.005

# How long the creator of a topic waits for name servers to learn of it, if one hangs.
TOLD_SECONDS: Final = 1.0

# How long the start waits for the first name server: all may be unreachable.
START_SECONDS: Final = 1.0

# Twice as much fits into a frame. Compressed, it takes a tenth.
PLAIN_BYTES_MAX: Final = 8 << 20

_CRC_MASK: Final = 0x7FFFFFFF
_READ_WRITE: Final = Permission.READ | Permission.WRITE


@final
class Registrar:
    """The registrations of one broker, with a task for each name server. The owner calls `start`,
    then `stop`."""

    def __init__(
        self,
        state: State,
        dialer: Dialer,
        log: Log,
        registered: Callable[[str, RegisterBrokerResponse], None],
    ) -> None:
        """`registered` gets each name server's answer to a registration."""
        self._peers = RemoteRequests(dialer)
        self._registered = registered
        self._state = state
        self._dialer = dialer
        self._log = log
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._changed: dict[str, asyncio.Event] = {}
        self._changes = 0
        self._told: dict[str, int] = {}
        self._tried = asyncio.Condition()
        self._encoded: tuple[object, bytes, bool] | None = None
        self._known: set[str] = set()
        self.failures: dict[str, str] = {}
        """By name server, why it does not have a registration of this broker now."""

    async def start(self) -> None:
        """Begin to register with all name servers. Returns when the first one has the registration,
        or after START_SECONDS."""
        tried = asyncio.Event()
        for address in self.addresses:
            self._changed[address] = asyncio.Event()
            task = asyncio.get_running_loop().create_task(
                self._keep_registered(address, tried), name=f"register with {address}"
            )
            self._tasks[address] = task
        if self._tasks:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(START_SECONDS):
                    await tried.wait()

    async def stop(self) -> None:
        """Unregister from all name servers and end."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        await asyncio.gather(*(self._unregister(address) for address in self._tasks))

    @property
    def addresses(self) -> list[str]:
        """The addresses of the name servers, without duplicates."""
        listed = self._state.settings.namesrv_addr.split(";")
        return list(dict.fromkeys(address.strip() for address in listed if address.strip()))

    def changed(self) -> None:
        """Register at once, because topics have changed."""
        self._changes += 1
        for event in self._changed.values():
            event.set()

    async def told(self) -> None:
        """Wait until every name server that answers knows the changes so far, at most TOLD_SECONDS.

        If none answered yet, wait until one does: it may be starting.
        """
        changes = self._changes
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TOLD_SECONDS), self._tried:
                await self._tried.wait_for(lambda: self._have_told(changes))

    def _have_told(self, changes: int) -> bool:
        reached = [address for address in self._tasks if address not in self.failures]
        are_told = all(self._told.get(address, -1) >= changes for address in reached)
        return are_told and bool(reached or not self._tasks)

    async def _keep_registered(self, address: str, tried: asyncio.Event) -> None:
        await self._register(address)
        if address not in self.failures or len(self.failures) == len(self._tasks):
            tried.set()
        period = self._state.settings.register_name_server_period / 1000
        pause = SECOND_SECONDS
        retry = RETRY_SECONDS
        changed = self._changed[address]
        while True:
            has_failed = address in self.failures
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(pause, retry) if has_failed else pause):
                    await changed.wait()
                    await asyncio.sleep(GATHER_SECONDS)
            changed.clear()
            await self._register(address)
            pause = period
            retry = min(2 * retry, SECOND_SECONDS) if has_failed else RETRY_SECONDS

    async def _register(self, address: str) -> None:
        changes = self._changes
        await self._try_to_register(address)
        self._told[address] = changes
        async with self._tried:
            self._tried.notify_all()

    async def _try_to_register(self, address: str) -> None:
        body, is_compressed = await self._body()
        # Role and epoch are read together, after the wait: the role of one epoch, sent with the
        # number of the next, would be taken for that epoch's master.
        identity, epoch = self._state.identity, self._epoch()
        header = RegisterBrokerRequest(
            broker_name=identity.name,
            broker_addr=identity.address,
            cluster_name=identity.cluster,
            ha_server_addr=identity.ha_address,
            broker_id=identity.broker_id,
            compressed=is_compressed,
            body_crc32=crc32(body) & _CRC_MASK,
        )
        command = Command(RequestCode.REGISTER_BROKER, ext=header.encode() | epoch, body=body)
        seconds = self._state.settings.register_broker_timeout_mills / 1000
        response = await self._peers.ask(address, command, seconds)
        failure = _failure(response)
        if failure is None and isinstance(response, Command):
            self._registered(address, RegisterBrokerResponse.decode(response.ext))
        known = self.failures.get(address)
        if failure is not None:
            self.failures[address] = failure
            if known is None:
                # A name server that was never reached may have other TLS settings.
                hint = "" if address in self._known else f"; {self._dialer.hint}"
                cause = f"{failure}{hint}"
                self._log.warning("registerBroker Exception", namesrv=address, cause=cause)
        else:
            self._known.add(address)
            self.failures.pop(address, None)
            if known is not None:
                self._log.info("registered again", namesrv=address)

    async def _unregister(self, address: str) -> None:
        identity = self._state.identity
        header = UnregisterBrokerRequest(
            broker_name=identity.name,
            broker_addr=identity.address,
            cluster_name=identity.cluster,
            broker_id=identity.broker_id,
        )
        command = Command(RequestCode.UNREGISTER_BROKER, ext=header.encode() | self._epoch())
        failure = _failure(await self._peers.ask(address, command, UNREGISTER_SECONDS))
        if failure is not None:
            self._log.warning("unregisterBroker Exception", namesrv=address, cause=failure)

    def _epoch(self) -> dict[str, str]:
        """The epoch field, by which name servers tell a new master from an old one; empty with
        fixed roles."""
        epoch = self._state.members.epoch
        return {EPOCH_FIELD: str(epoch)} if epoch else {}

    async def _body(self) -> tuple[bytes, bool]:
        """The body of a registration, and whether it is compressed."""
        topics, settings = self._state.topics, self._state.settings
        version = (topics.data_version, settings.broker_permission, settings.compressed_register)
        if self._encoded is not None and self._encoded[0] == version:
            return self._encoded[1:]
        body = b""
        if settings.broker_permission & _READ_WRITE == _READ_WRITE:
            body = b'{"filterServerList":[],"topicConfigSerializeWrapper":%b}' % topics.content()
        is_compressed = settings.compressed_register or len(body) > PLAIN_BYTES_MAX
        if is_compressed or not body:
            told = RegisterBrokerBody(topics.data_version, dict(topics.all), ())
            permission = settings.broker_permission
            body = await asyncio.to_thread(_encoded, told, permission, is_compressed=is_compressed)
        self._encoded = (version, body, is_compressed)
        return body, is_compressed


def _failure(response: Command | str) -> str | None:
    """Why a request failed; None if it succeeded."""
    if isinstance(response, str):
        return response
    if response.code == ResponseCode.SUCCESS:
        return None
    return f"code {response.code}: {response.remark}"


def _encoded(told: RegisterBrokerBody, permission: int, *, is_compressed: bool) -> bytes:
    """The body, with permissions that the whole broker lacks removed from each topic."""
    topics = {
        name: replace(topic, perm=topic.perm & (permission | ~_READ_WRITE))
        for name, topic in told.topics.items()
    }
    allowed = replace(told, topics=topics)
    return allowed.encode_compressed() if is_compressed else allowed.encode()
