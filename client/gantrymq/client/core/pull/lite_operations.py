"""Describes a pull consumer to operators, and moves it to the offsets that they reset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from gantrymq.client.core.group.subscriptions import Subscription
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.pull import running_info
from gantrymq.client.core.pull.lite_queue import LiteQueue
from gantrymq.client.core.pull.lite_settings import LiteSettings
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.jsonvalue import JsonObject


@final
class LiteOperations:
    """Answers the requests of operators about one pull consumer.

    The consumer owns this object, and changes the queues and subscriptions that both use.
    ConsumerRequests calls it.
    """

    __slots__ = ("_instance", "_queues", "_settings", "_subscriptions", "started_ms")

    def __init__(
        self,
        instance: Instance,
        settings: LiteSettings,
        queues: Mapping[MessageQueue, LiteQueue],
        subscriptions: Mapping[str, Subscription],
    ) -> None:
        self._instance = instance
        self._settings = settings
        self._queues = queues
        self._subscriptions = subscriptions
        self.started_ms = 0
        """The wall clock time at which the consumer started."""

    def reset(self, topic: str, offsets: Mapping[MessageQueue, int]) -> None:
        for queue, mine in self._queues.items():
            offset = offsets.get(queue)
            if offset is not None and queue.topic == topic:
                mine.go_to(offset, self._instance.ports)

    def progress(self, topic: str) -> dict[MessageQueue, int]:
        mine = [each for queue, each in self._queues.items() if queue.topic == topic]
        return {each.queue: each.consumed for each in mine if each.consumed is not None}

    def running_info(self) -> JsonObject:
        clock = self._instance.ports.clock
        now, wall_ms = clock.monotonic(), clock.wall_ms()
        queues = {
            queue: running_info.lite_queue_info(each, now, wall_ms)
            for queue, each in self._queues.items()
        }
        properties = {
            "PROP_NAMESERVER_ADDR": ";".join(self._instance.name_servers.addresses),
            "PROP_CONSUME_TYPE": "CONSUME_ACTIVELY",
            "PROP_CONSUMER_START_TIMESTAMP": str(self.started_ms),
            "pullBatchSize": str(self._settings.pull_batch),
            "autoCommit": str(self._settings.auto_commit).lower(),
            "language": "PYTHON",
        }
        subscriptions = tuple(each.data for each in self._subscriptions.values())
        return running_info.running_info(queues, properties, subscriptions, {})
