"""Offsets: of queues and of groups; asking, resetting, copying."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from gantrymq.client.core.admin.asking import Asking, on_each
from gantrymq.client.core.admin.clusters import Clusters
from gantrymq.client.core.admin.topics import Topics, readable
from gantrymq.wire import javajson
from gantrymq.wire.bodies.offsets import ResetOffsetBody
from gantrymq.wire.bodies.queue_stats import ConsumeStats
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.headers.offset import (
    CloneGroupOffsetRequest,
    GetEarliestMsgStoretimeRequest,
    GetEarliestMsgStoretimeResponse,
    GetMaxOffsetRequest,
    GetMinOffsetRequest,
    OffsetResponse,
    QueryConsumerOffsetRequest,
    ResetOffsetRequest,
    SearchOffsetRequest,
    UpdateConsumerOffsetRequest,
)

END: Final = -1
"""For a timestamp: behind the last message."""

RESET_TIMEOUT_S: Final = 15.0
"""A broker of 4.9 asks every consumer before it answers."""


@final
class Offsets:
    """Of queues, which are asked at their brokers' addresses, and of groups."""

    def __init__(self, asking: Asking, clusters: Clusters, topics: Topics) -> None:
        self._asking = asking
        self._clusters = clusters
        self._topics = topics

    # ------------------------------------------------------------------ of queues

    async def first(self, address: str, queue: MessageQueue) -> int:
        """Of the oldest message that is left."""
        header = GetMinOffsetRequest(topic=queue.topic, queue_id=queue.queue_id)
        answer = await self._asking.ask(address, RequestCode.GET_MIN_OFFSET, header)
        return OffsetResponse.decode(answer.ext).offset

    async def end(self, address: str, queue: MessageQueue) -> int:
        """Behind the newest message."""
        header = GetMaxOffsetRequest(topic=queue.topic, queue_id=queue.queue_id)
        answer = await self._asking.ask(address, RequestCode.GET_MAX_OFFSET, header)
        return OffsetResponse.decode(answer.ext).offset

    async def at(self, address: str, queue: MessageQueue, moment_ms: int) -> int:
        """Of the first message that was stored then or later."""
        header = SearchOffsetRequest(
            topic=queue.topic, queue_id=queue.queue_id, timestamp=moment_ms
        )
        answer = await self._asking.ask(address, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header)
        return OffsetResponse.decode(answer.ext).offset

    async def first_stored_ms(self, address: str, queue: MessageQueue) -> int:
        """When the oldest message that is left was stored; -1 when there is none."""
        header = GetEarliestMsgStoretimeRequest(topic=queue.topic, queue_id=queue.queue_id)
        answer = await self._asking.ask(address, RequestCode.GET_EARLIEST_MSG_STORETIME, header)
        return GetEarliestMsgStoretimeResponse.decode(answer.ext).timestamp

    # ------------------------------------------------------------------ of groups

    async def of(self, address: str, group: str, queue: MessageQueue) -> int:
        """Where a group goes on; raises BrokerError (22) when it never was there."""
        header = QueryConsumerOffsetRequest(
            consumer_group=group, topic=queue.topic, queue_id=queue.queue_id
        )
        answer = await self._asking.ask(address, RequestCode.QUERY_CONSUMER_OFFSET, header)
        return OffsetResponse.decode(answer.ext).offset

    async def move(self, address: str, group: str, queue: MessageQueue, offset: int) -> None:
        """For a group without consumers: those that run overwrite it with their own."""
        header = UpdateConsumerOffsetRequest(
            consumer_group=group,
            topic=queue.topic,
            queue_id=queue.queue_id,
            commit_offset=offset,
        )
        await self._asking.ask(address, RequestCode.UPDATE_CONSUMER_OFFSET, header)

    async def reset(
        self, group: str, topic: str, moment_ms: int, *, force: bool = True
    ) -> Mapping[MessageQueue, int]:
        """Let a group go on where a moment is, at all brokers; where each queue goes on.

        Raises BrokerError (206) at a broker of 4.9 when no consumer of the group runs.
        """

        async def at_one(address: str) -> Mapping[MessageQueue, int]:
            return await self.reset_at(address, group, topic, moment_ms, force=force)

        brokers = await self._topics.brokers(topic)
        parts = (await on_each(brokers, at_one, self._asking.pace)).all().values()
        return {queue: offset for part in parts for queue, offset in part.items()}

    async def reset_at(
        self,
        address: str,
        group: str,
        topic: str,
        moment_ms: int,
        *,
        queue_id: int = -1,
        offset: int | None = None,
        force: bool = True,
    ) -> Mapping[MessageQueue, int]:
        """At one broker; one queue, and to an offset, are for 5.x."""
        header = ResetOffsetRequest(
            topic=topic,
            group=group,
            timestamp=moment_ms,
            is_force=force,
            queue_id=queue_id,
            offset=-1 if offset is None else offset,
        )
        answer = await self._asking.ask(
            address,
            RequestCode.INVOKE_BROKER_TO_RESET_OFFSET,
            header,
            timeout_s=RESET_TIMEOUT_S,
        )
        return ResetOffsetBody.from_json(javajson.loads(answer.body) or {}).offsets

    async def clone(self, address: str, source: str, target: str, topic: str) -> None:
        """At one broker: let a group be where another one is. Java's takes groups it never heard
        of; `copy` does not."""
        header = CloneGroupOffsetRequest(src_group=source, dest_group=target, topic=topic)
        await self._asking.ask(address, RequestCode.CLONE_GROUP_OFFSET, header)

    async def copy(self, progress: ConsumeStats, target: str) -> None:
        """Let a group be where this progress is; raises BrokerError (26) when it is not there."""
        info = await self._clusters.info()
        for queue, offset in sorted(progress.queues.items()):
            broker = info.brokers.get(queue.broker_name)
            if broker is not None and offset.consumer_offset >= 0:
                await self.move(readable(broker), target, queue, offset.consumer_offset)
