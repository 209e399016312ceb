"""Determines for each consumer group of a topic whether it has consumed one message."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, final

from gantrymq.client.core.admin.asking import on_each
from gantrymq.client.core.admin.clusters import Clusters
from gantrymq.client.core.admin.connections import Connections
from gantrymq.client.core.admin.groups import Groups
from gantrymq.client.core.admin.topics import Topics
from gantrymq.client.core.errors import BrokerError
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.wire.bodies.connections import ConsumerConnection
from gantrymq.wire.bodies.heartbeat import CLUSTERING
from gantrymq.wire.codes import ResponseCode

_ACTIVELY: Final = "CONSUME_ACTIVELY"


class Fate(Enum):
    """Java's names of the possible results."""

    CONSUMED = "CONSUMED"
    CONSUMED_BUT_FILTERED = "CONSUMED_BUT_FILTERED"
    PULL = "PULL"
    NOT_CONSUME_YET = "NOT_CONSUME_YET"
    NOT_ONLINE = "NOT_ONLINE"
    CONSUME_BROADCASTING = "CONSUME_BROADCASTING"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class Track:
    """The result for one group; `why` is the error's text if the result is UNKNOWN or
    NOT_ONLINE."""

    group: str
    fate: Fate
    why: str | None = None


@final
class Tracks:
    """Computes the tracks of stored messages."""

    def __init__(
        self, clusters: Clusters, topics: Topics, groups: Groups, connections: Connections
    ) -> None:
        self._clusters = clusters
        self._topics = topics
        self._groups = groups
        self._connections = connections

    async def of(self, message: ReceivedMessage) -> list[Track]:
        """Return a track for each group, sorted by group name."""
        groups = await self._topics.groups(message.record.topic.decode("utf-8", "replace"))
        found = await on_each(sorted(groups), lambda group: self._track(message, group))
        failed = (Track(group, Fate.UNKNOWN, _text(why)) for group, why in found.failed.items())
        return sorted((*found.done.values(), *failed), key=lambda track: track.group)

    async def _track(self, message: ReceivedMessage, group: str) -> Track:
        try:
            consumers = await self._connections.consumers(group)
        except BrokerError as error:
            if error.code == ResponseCode.CONSUMER_NOT_ONLINE:
                return Track(group, Fate.NOT_ONLINE, _text(error))
            raise
        if consumers.consume_type == _ACTIVELY:
            return Track(group, Fate.PULL)
        if consumers.message_model != CLUSTERING:
            return Track(group, Fate.CONSUME_BROADCASTING)
        if not await self._is_behind(message, group):
            return Track(group, Fate.NOT_CONSUME_YET)
        is_wanted = _wants(consumers, message)
        return Track(group, Fate.CONSUMED if is_wanted else Fate.CONSUMED_BUT_FILTERED)

    async def _is_behind(self, message: ReceivedMessage, group: str) -> bool:
        """Tell whether the group's committed offset is past the message."""
        progress = await self._groups.progress(group)
        info = await self._clusters.info()
        topic = message.record.topic.decode("utf-8", "replace")
        for queue, offset in progress.queues.items():
            if (queue.topic, queue.queue_id) != (topic, message.queue.queue_id):
                continue
            broker = info.brokers.get(queue.broker_name)
            if broker is not None and message.store_host in broker.addresses.values():
                return offset.consumer_offset > message.offset
        return False


def _text(why: Exception) -> str:
    if isinstance(why, BrokerError):
        return f"CODE: {why.code}  DESC: {why.remark.partition(chr(10))[0]}"
    return str(why)


def _wants(consumers: ConsumerConnection, message: ReceivedMessage) -> bool:
    subscription = consumers.subscriptions.get(message.topic)
    if subscription is None or not subscription.tags:
        return True
    return message.tag in subscription.tags
