"""Stores the consumed offsets of a group in memory and persistently.

    clustering groups      at the broker of each queue, by oneway requests every few seconds
    broadcasting groups    in a file of this client, in the format of Java's clients:
                           <folder>/<clientId>/<group>/offsets.json, the previous one in .bak;
                           an unnamed instance is called DEFAULT there, so that the path is stable

Invariant: an offset says that everything before it is consumed. The offset in memory is never
behind the persistent one that came from it, unless an operator or the application resets it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Protocol, final

from gantrymq.base.errors import CorruptionError, GantryError, RemoteError
from gantrymq.client.core.errors import BrokerError, RouteError
from gantrymq.client.core.flow.answers import success
from gantrymq.client.core.flow.flow_steps import All, Ask, LoadFile, SaveFile, Tell
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.instance.settings import DEFAULT_INSTANCE
from gantrymq.remoting.failures import RequestError
from gantrymq.wire import javajson
from gantrymq.wire.bodies.offsets import ResetOffsetBody
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import FLAG_ONEWAY, Command
from gantrymq.wire.headers.offset import (
    OffsetResponse,
    QueryConsumerOffsetRequest,
    UpdateConsumerOffsetRequest,
)

# Longer than the timeout of other requests; Java's.
OFFSET_TIMEOUT_S: Final = 5.0

# How often unchanged offsets are sent to brokers. Pull requests carry them as well.
RESEND_S: Final = 30.0

FILE: Final = "offsets.json"
BACKUP: Final = ".bak"


class OffsetStore(Protocol):
    """The offsets of one group."""

    async def load(self) -> None:
        """Read the persistent offsets, if they are in a file. Call this first."""

    def find(self, queue: MessageQueue) -> int | None:
        """Return the offset in memory, if there is one."""

    async def read(self, queue: MessageQueue, *, from_store: bool = False) -> int | None:
        """Return the offset in memory; if there is none, or with `from_store`, read the persistent
        one into memory. None if there is none. Raises BrokerError, RequestError and RouteError if
        it cannot be read."""

    def update(self, queue: MessageQueue, offset: int, *, increase_only: bool = False) -> None:
        """Set the offset in memory. With `increase_only`, ignore an offset that is not above the
        known one, because it comes from a late caller."""

    async def persist(self, queues: Collection[MessageQueue], *, confirm: bool = False) -> None:
        """Persist the offsets of these queues. Without `confirm`, failures at a broker are not
        detected; the next call sends the offset again."""

    def forget(self, queue: MessageQueue) -> None:
        """Remove the offset from memory."""

    def offsets(self, topic: str = "") -> dict[MessageQueue, int]:
        """Return all offsets in memory, or those of one topic."""


class Known:
    """The offsets in memory, common to both stores."""

    def __init__(self) -> None:
        self._offsets: dict[MessageQueue, int] = {}

    def find(self, queue: MessageQueue) -> int | None:
        return self._offsets.get(queue)

    def update(self, queue: MessageQueue, offset: int, *, increase_only: bool = False) -> None:
        if increase_only and offset <= self._offsets.get(queue, -1):
            return
        self._offsets[queue] = offset

    def forget(self, queue: MessageQueue) -> None:
        self._offsets.pop(queue, None)

    def offsets(self, topic: str = "") -> dict[MessageQueue, int]:
        return {
            queue: offset
            for queue, offset in self._offsets.items()
            if not topic or queue.topic == topic
        }


@final
class RemoteOffsets(Known):
    """Stores offsets at the brokers with QUERY_CONSUMER_OFFSET and UPDATE_CONSUMER_OFFSET."""

    def __init__(self, instance: Instance, group: str) -> None:
        super().__init__()
        self._instance = instance
        self._group = group
        self._clock = instance.ports.clock
        self._sent: dict[MessageQueue, tuple[int, float]] = {}

    def forget(self, queue: MessageQueue) -> None:
        super().forget(queue)
        self._sent.pop(queue, None)

    async def load(self) -> None:
        """Do nothing: offsets are read when needed."""

    async def read(self, queue: MessageQueue, *, from_store: bool = False) -> int | None:
        known = self._offsets.get(queue)
        if known is not None and not from_store:
            return known
        header = QueryConsumerOffsetRequest(
            consumer_group=self._group,
            topic=queue.topic,
            queue_id=queue.queue_id,
            broker_name=queue.broker_name,
        )
        address = await self._address(queue)
        command = Command(RequestCode.QUERY_CONSUMER_OFFSET, ext=header.encode())
        answer = await Ask(address, command, OFFSET_TIMEOUT_S)
        if answer.code == ResponseCode.QUERY_NOT_FOUND:
            return None
        if answer.code != ResponseCode.SUCCESS:
            raise BrokerError(answer.code, answer.remark, address)
        offset = OffsetResponse.decode(answer.ext).offset
        self._offsets[queue] = offset
        return offset

    async def persist(self, queues: Collection[MessageQueue], *, confirm: bool = False) -> None:
        """With `confirm` ask the brokers concurrently, so that timeouts do not add up."""
        by_broker: dict[str, list[MessageQueue]] = {}
        for queue in queues:
            if queue in self._offsets:
                by_broker.setdefault(queue.broker_name, []).append(queue)
        if not confirm:
            await self._persist([queue for each in by_broker.values() for queue in each])
            return
        parts = [self._persist(each, confirm=True) for each in by_broker.values()]
        for result in await All(parts):
            if isinstance(result, Exception):
                raise result

    async def _persist(self, queues: list[MessageQueue], *, confirm: bool = False) -> None:
        """Send these offsets. With `confirm` all queues belong to one broker; after a request
        without response the remaining offsets are sent oneway."""
        failure: GantryError | None = None
        for queue in queues:
            offset = self._offsets.get(queue)
            if offset is None or not (confirm or self._is_news(queue, offset)):
                continue
            try:
                await self._send(queue, offset, confirm=confirm)
            except (BrokerError, RequestError, RouteError) as error:
                failure = error
                confirm = confirm and isinstance(error, BrokerError)
        if failure is not None:
            raise failure

    def _is_news(self, queue: MessageQueue, offset: int) -> bool:
        """Tell whether to send the offset: it changed, or RESEND_S passed, because oneway
        requests are not confirmed and may be lost."""
        known, at = self._sent.get(queue, (-1, 0.0))
        return known != offset or self._clock.monotonic() - at >= RESEND_S

    async def _send(self, queue: MessageQueue, offset: int, *, confirm: bool) -> None:
        header = UpdateConsumerOffsetRequest(
            consumer_group=self._group,
            topic=queue.topic,
            queue_id=queue.queue_id,
            commit_offset=offset,
            broker_name=queue.broker_name,
        )
        address = await self._address(queue)
        code = RequestCode.UPDATE_CONSUMER_OFFSET
        if not confirm:
            await Tell(address, Command(code, flag=FLAG_ONEWAY, ext=header.encode()))
            self._sent[queue] = (offset, self._clock.monotonic())
            return
        await success(address, Command(code, ext=header.encode()), OFFSET_TIMEOUT_S)

    async def _address(self, queue: MessageQueue) -> str:
        """Return the master's address, or else a slave's: slaves forward offsets when they can."""
        return (await self._instance.found_member(queue.broker_name, queue.topic))[0]


@final
class LocalOffsets(Known):
    """Stores offsets in a local file, for a broadcasting group."""

    def __init__(self, folder: str, client_id: str, group: str) -> None:
        super().__init__()
        self.path = f"{folder}/{client_id}/{group}/{FILE}"
        self._stored: dict[MessageQueue, int] = {}
        self._content = b""

    async def load(self) -> None:
        """Read the file, or else its backup; raises CorruptionError if neither is readable."""
        failures = []
        for path in (self.path, self.path + BACKUP):
            content = await LoadFile(path)
            if not content:
                continue
            try:
                self._stored = _decoded(content)
            except RemoteError as error:
                failures.append(f"{path}: {error}")
                continue
            self._content = content
            self._offsets = dict(self._stored)
            return
        if failures:
            raise CorruptionError(
                f"readLocalOffset Exception: {'; '.join(failures)}; repair the file, or remove"
                " both: then the group begins where consume_from says"
            )

    async def read(self, queue: MessageQueue, *, from_store: bool = False) -> int | None:
        known = None if from_store else self._offsets.get(queue)
        return self._stored.get(queue) if known is None else known

    async def persist(self, queues: Collection[MessageQueue], *, confirm: bool = False) -> None:
        """Write the file if something changed; offsets of queues not listed stay as they were
        stored."""
        del confirm  # a failed write raises anyway
        stored = dict(self._stored)
        stored.update({queue: self._offsets[queue] for queue in queues if queue in self._offsets})
        if stored == self._stored:
            return
        content = javajson.dumps_pretty(ResetOffsetBody(stored).to_json())
        if self._content:
            await SaveFile(self.path + BACKUP, self._content)
        await SaveFile(self.path, content)
        self._stored, self._content = stored, content


def offset_store(instance: Instance, group: str, folder: str | None) -> OffsetStore:
    """Return the store of a group: a file below `folder` for broadcasting, or the brokers if it is
    None."""
    if folder is None:
        return RemoteOffsets(instance, group)
    return LocalOffsets(folder, instance.settings.client_id(DEFAULT_INSTANCE), group)


def _decoded(content: bytes) -> dict[MessageQueue, int]:
    return dict(ResetOffsetBody.from_json(javajson.loads(content)).offsets)
