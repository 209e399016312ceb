"""Reads, resets and copies the offsets of queues and consumer groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from gantrymq.client.core.admin.asking import Asking, on_each
from gantrymq.client.core.admin.clusters import Clusters
from gantrymq.client.core.admin.topics import Topics, readable
from gantrymq.wire import javajson
from gantrymq.wire.bodies.consuming.queue_stats import ConsumeStats
from gantrymq.wire.bodies.offsets import ResetOffsetBody
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
"""As a timestamp: the end of the queue."""

RESET_TIMEOUT_S: Final = 15.0
"""A 4.9 broker asks every consumer before it answers."""


@final
class Offsets:
    """Requests about offsets of queues, sent to the given address, and of consumer groups."""

    def __init__(self, asking: Asking, clusters: Clusters, topics: Topics) -> None:
        self._asking = asking
        self._clusters = clusters
        self._topics = topics

    # ------------------------------------------------------------------ of queues

    async def first(self, address: str, queue: MessageQueue) -> int:
        """Return the offset of the oldest message of a queue."""
        header = GetMinOffsetRequest(topic=queue.topic, queue_id=queue.queue_id)
        answer = await self._asking.ask(address, RequestCode.GET_MIN_OFFSET, header)
        return OffsetResponse.decode(answer.ext).offset

    async def end(self, address: str, queue: MessageQueue) -> int:
        """Return the offset after the newest message of a queue."""
        header = GetMaxOffsetRequest(topic=queue.topic, queue_id=queue.queue_id)
        answer = await self._asking.ask(address, RequestCode.GET_MAX_OFFSET, header)
        return OffsetResponse.decode(answer.ext).offset

    async def at(self, address: str, queue: MessageQueue, moment_ms: int) -> int:
        """Return the offset of the first message stored at `moment_ms` or later."""
        header = SearchOffsetRequest(
            topic=queue.topic, queue_id=queue.queue_id, timestamp=moment_ms
        )
        answer = await self._asking.ask(address, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header)
        return OffsetResponse.decode(answer.ext).offset

    async def first_stored_ms(self, address: str, queue: MessageQueue) -> int:
        """Return the store time of the oldest message; -1 if the queue is empty."""
        header = GetEarliestMsgStoretimeRequest(topic=queue.topic, queue_id=queue.queue_id)
        answer = await self._asking.ask(address, RequestCode.GET_EARLIEST_MSG_STORETIME, header)
        return GetEarliestMsgStoretimeResponse.decode(answer.ext).timestamp

    # ------------------------------------------------------------------ of groups

    async def of(self, address: str, group: str, queue: MessageQueue) -> int:
        """Return a group's committed offset; raises BrokerError (22) if it has none in this
        queue."""
        header = QueryConsumerOffsetRequest(
            consumer_group=group, topic=queue.topic, queue_id=queue.queue_id
        )
        answer = await self._asking.ask(address, RequestCode.QUERY_CONSUMER_OFFSET, header)
        return OffsetResponse.decode(answer.ext).offset

    async def move(self, address: str, group: str, queue: MessageQueue, offset: int) -> None:
        """Commit an offset for a group without consumers: running consumers overwrite it."""
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
        """Reset a group to a time at all brokers of a topic; returns the new offset of each queue.

        Raises BrokerError (206) at a 4.9 broker if no consumer of the group runs.
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
        """Reset a group at one broker. `queue_id` and `offset` need 5.x."""
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
        """Copy a group's offsets to another group at one broker. Java brokers accept an unknown
        target group; `copy` does not."""
        header = CloneGroupOffsetRequest(src_group=source, dest_group=target, topic=topic)
        await self._asking.ask(address, RequestCode.CLONE_GROUP_OFFSET, header)

    async def copy(self, progress: ConsumeStats, target: str) -> None:
        """Commit this progress for another group; raises BrokerError (26) if that does not
        exist."""
        info = await self._clusters.info()
        for queue, offset in sorted(progress.queues.items()):
            broker = info.brokers.get(queue.broker_name)
            if broker is not None and offset.consumer_offset >= 0:
                await self.move(readable(broker), target, queue, offset.consumer_offset)
