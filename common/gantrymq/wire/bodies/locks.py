"""Defines the bodies for locks of queues, which orderly consumers hold.

LockBatchRequestBody   {"clientId":"c","consumerGroup":"g","mqSet":[MQ],"onlyThisBroker":false}
                       UNLOCK_BATCH_MQ's body is the same; 4.9 has no onlyThisBroker
LockBatchResponseBody  {"lockOKMQSet":[MQ]}, the queues that the client has locked now
"""

from __future__ import annotations

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.jsonvalue import (
    Json,
    JsonObject,
    bool_field,
    list_of,
    object_of,
    required_text_field,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuesOfClient:
    """LOCK_BATCH_MQ, UNLOCK_BATCH_MQ: a client, and the queues to lock or unlock."""

    client_id: str
    consumer_group: str
    queues: tuple[MessageQueue, ...] = ()
    only_this_broker: bool = False

    @classmethod
    def from_json(cls, value: Json) -> QueuesOfClient:
        bean = object_of(value, "LockBatchRequestBody")
        return cls(
            client_id=required_text_field(bean, "clientId"),
            consumer_group=required_text_field(bean, "consumerGroup"),
            queues=_queues(bean, "mqSet"),
            only_this_broker=bool_field(bean, "onlyThisBroker"),
        )

    def to_json(self) -> JsonObject:
        return {
            "clientId": self.client_id,
            "consumerGroup": self.consumer_group,
            "mqSet": [queue.to_json() for queue in self.queues],
            "onlyThisBroker": self.only_this_broker,
        }


@dataclass(frozen=True, slots=True)
class LockedQueues:
    """The response to LOCK_BATCH_MQ."""

    queues: tuple[MessageQueue, ...] = ()

    @classmethod
    def from_json(cls, value: Json) -> LockedQueues:
        return cls(_queues(object_of(value, "LockBatchResponseBody"), "lockOKMQSet"))

    def to_json(self) -> JsonObject:
        return {"lockOKMQSet": [queue.to_json() for queue in self.queues]}


def _queues(bean: JsonObject, name: str) -> tuple[MessageQueue, ...]:
    # The body is a set, so duplicates are dropped.
    queues = (MessageQueue.from_json(each) for each in list_of(bean.get(name), name))
    return tuple(dict.fromkeys(queues))
