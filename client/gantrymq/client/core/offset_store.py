"""How far a group is: in memory, and where that outlives the process.

    a group that shares    the broker of each queue, told oneway every few seconds
    a broadcast group      a file of this client's, as Java's clients write it:
                           <folder>/<clientId>/<group>/offsets.json, the one before it in .bak;
                           unless it is named, the instance is DEFAULT there: a name that stays

Invariant: an offset says that everything before it is consumed. What is in memory is never behind
what was stored from there, unless somebody resets it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Protocol, final

from gantrymq.base.errors import CorruptionError, GantryError, RemoteError
from gantrymq.client.core.answers import success
from gantrymq.client.core.errors import BrokerError, RouteError
from gantrymq.client.core.instance import Instance
from gantrymq.client.core.settings import DEFAULT_INSTANCE
from gantrymq.client.core.steps import All, Ask, LoadFile, SaveFile, Tell
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

# Longer than other requests have: Java's.
OFFSET_TIMEOUT_S: Final = 5.0

# How often brokers are told of what has not changed. Pulls tell them as well.
TELL_AGAIN_S: Final = 30.0

FILE: Final = "offsets.json"
BACKUP: Final = ".bak"


class OffsetStore(Protocol):
    """Of one group."""

    async def load(self) -> None:
        """Before anything else."""

    def find(self, queue: MessageQueue) -> int | None:
        """As memory has it."""

    async def read(self, queue: MessageQueue, *, from_store: bool = False) -> int | None:
        """As memory has it, else (or at once) as it is stored, which memory then has; None when
        there is none. Raises BrokerError, RequestError and RouteError when nobody can tell."""

    def update(self, queue: MessageQueue, offset: int, *, increase_only: bool = False) -> None:
        """`increase_only`: an offset below the known one is of somebody who comes late."""

    async def persist(self, queues: Collection[MessageQueue], *, confirm: bool = False) -> None:
        """Store what memory has of these queues. Without `confirm` what goes wrong at a broker is
        not heard of; it is told again by the next call."""

    def forget(self, queue: MessageQueue) -> None:
        """Memory no longer has it."""

    def offsets(self, topic: str = "") -> dict[MessageQueue, int]:
        """All that memory has, or a topic's."""


class Known:
    """The offsets in memory, which both stores have."""

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
    """Stored by the brokers: QUERY_CONSUMER_OFFSET, UPDATE_CONSUMER_OFFSET."""

    def __init__(self, instance: Instance, group: str) -> None:
        super().__init__()
        self._instance = instance
        self._group = group
        self._clock = instance.ports.clock
        self._told: dict[MessageQueue, tuple[int, float]] = {}

    def forget(self, queue: MessageQueue) -> None:
        super().forget(queue)
        self._told.pop(queue, None)

    async def load(self) -> None:
        """Each queue's is asked for when it is wanted."""

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
        """Brokers side by side, so that silent ones take their time together."""
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
        """With `confirm` those of one broker: silent once, it is not waited for again."""
        failure: GantryError | None = None
        for queue in queues:
            offset = self._offsets.get(queue)
            if offset is None or not (confirm or self._is_news(queue, offset)):
                continue
            try:
                await self._tell(queue, offset, confirm=confirm)
            except (BrokerError, RequestError, RouteError) as error:
                failure = error
                confirm = confirm and isinstance(error, BrokerError)
        if failure is not None:
            raise failure

    def _is_news(self, queue: MessageQueue, offset: int) -> bool:
        """Most queues stand still most of the time: that is told now and then, for nobody says
        that it was heard."""
        known, at = self._told.get(queue, (-1, 0.0))
        return known != offset or self._clock.monotonic() - at >= TELL_AGAIN_S

    async def _tell(self, queue: MessageQueue, offset: int, *, confirm: bool) -> None:
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
            self._told[queue] = (offset, self._clock.monotonic())
            return
        await success(address, Command(code, ext=header.encode()), OFFSET_TIMEOUT_S)

    async def _address(self, queue: MessageQueue) -> str:
        """The master's, else any member's: replicas pass offsets on when they can."""
        return (await self._instance.found_member(queue.broker_name, queue.topic))[0]


@final
class LocalOffsets(Known):
    """Stored in a file of this machine, for a group of which each client gets every message."""

    def __init__(self, folder: str, client_id: str, group: str) -> None:
        super().__init__()
        self.path = f"{folder}/{client_id}/{group}/{FILE}"
        self._stored: dict[MessageQueue, int] = {}
        self._content = b""

    async def load(self) -> None:
        """Raises CorruptionError when neither the file nor the one before it can be read."""
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
        """Only changes are written; queues that are not among these keep what was stored."""
        del confirm  # a file is written or the error is told
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
    """`folder`: of a broadcast group's files; None: the group shares."""
    if folder is None:
        return RemoteOffsets(instance, group)
    return LocalOffsets(folder, instance.settings.client_id(DEFAULT_INSTANCE), group)


def _decoded(content: bytes) -> dict[MessageQueue, int]:
    return dict(ResetOffsetBody.from_json(javajson.loads(content)).offsets)
