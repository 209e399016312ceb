"""Defines values that many bodies share: DataVersion, TopicConfig, MessageQueue.

Each can read what 4.9 and 5.x peers write, and is written as 5.x does: 4.9 ignores the properties
that it does not know (`stateVersion`, `attributes`), so one form serves both. JSON forms:

    DataVersion   {"counter":3,"stateVersion":0,"timestamp":1700000000000}
    TopicConfig   {"attributes":{},"order":false,"perm":6,"readQueueNums":4,"topicFilterType":
                  "SINGLE_TAG","topicName":"T","topicSysFlag":0,"writeQueueNums":4}
    MessageQueue  {"brokerName":"b","queueId":0,"topic":"T"}, also as the key of a map
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntFlag, StrEnum
from typing import Final

from gantrymq.base.errors import RemoteError
from gantrymq.wire.jsonvalue import (
    Json,
    JsonKey,
    JsonObject,
    ObjectKey,
    bool_field,
    int_field,
    long_field,
    object_of,
    required_text_field,
    text_map_field,
)


class Permission(IntFlag):
    """The bits of `perm`."""

    NONE = 0
    INHERIT = 1
    WRITE = 2
    READ = 4
    PRIORITY = 8


class TopicFilterType(StrEnum):
    """Whether a message of the topic carries one tag or several; RocketMQ never implemented
    several."""

    SINGLE_TAG = "SINGLE_TAG"
    MULTI_TAG = "MULTI_TAG"


@dataclass(frozen=True, slots=True)
class DataVersion:
    """The version of a table: equal versions mean equal contents.

    A 4.9 peer sends no state version; it counts as 0, as in Java 5.x.
    """

    timestamp_ms: int = 0
    counter: int = 0
    state_version: int = 0

    def next(self, timestamp_ms: int, state_version: int = 0) -> DataVersion:
        """The version after one more change."""
        return DataVersion(timestamp_ms, self.counter + 1, state_version)

    @classmethod
    def from_json(cls, value: Json) -> DataVersion:
        bean = object_of(value, "DataVersion")
        return cls(
            timestamp_ms=long_field(bean, "timestamp"),
            counter=long_field(bean, "counter"),
            state_version=long_field(bean, "stateVersion"),
        )

    def to_json(self) -> JsonObject:
        return {
            "counter": self.counter,
            "stateVersion": self.state_version,
            "timestamp": self.timestamp_ms,
        }


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """One topic of one broker."""

    topic_name: str
    read_queue_nums: int = 16
    write_queue_nums: int = 16
    perm: int = Permission.READ | Permission.WRITE
    topic_filter_type: TopicFilterType = TopicFilterType.SINGLE_TAG
    topic_sys_flag: int = 0
    order: bool = False
    attributes: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, value: Json) -> TopicConfig:
        bean = object_of(value, "TopicConfig")
        return cls(
            topic_name=required_text_field(bean, "topicName"),
            read_queue_nums=int_field(bean, "readQueueNums", 16),
            write_queue_nums=int_field(bean, "writeQueueNums", 16),
            perm=int_field(bean, "perm", 6),
            topic_filter_type=_filter_type(bean.get("topicFilterType")),
            topic_sys_flag=int_field(bean, "topicSysFlag"),
            order=bool_field(bean, "order"),
            attributes=text_map_field(bean, "attributes"),
        )

    def to_json(self) -> JsonObject:
        attributes: JsonObject = dict(self.attributes.items())
        return {
            "attributes": attributes,
            "order": self.order,
            "perm": int(self.perm),
            "readQueueNums": self.read_queue_nums,
            "topicFilterType": self.topic_filter_type.value,
            "topicName": self.topic_name,
            "topicSysFlag": self.topic_sys_flag,
            "writeQueueNums": self.write_queue_nums,
        }


@dataclass(frozen=True, slots=True, order=True)
class MessageQueue:
    """One queue of one topic on one broker, in the order that Java uses to assign queues."""

    topic: str
    broker_name: str
    queue_id: int

    @classmethod
    def from_json(cls, value: Json) -> MessageQueue:
        bean = object_of(value, "MessageQueue")
        return cls(
            topic=required_text_field(bean, "topic"),
            broker_name=required_text_field(bean, "brokerName"),
            queue_id=int_field(bean, "queueId"),
        )

    @classmethod
    def from_key(cls, key: JsonKey) -> MessageQueue:
        """The queue in a key of a Map<MessageQueue,V>."""
        if isinstance(key, ObjectKey):
            return cls.from_json(key.as_object())
        raise RemoteError(f"key {key!r} is no message queue")

    def to_json(self) -> JsonObject:
        return {"brokerName": self.broker_name, "queueId": self.queue_id, "topic": self.topic}

    def to_key(self) -> ObjectKey:
        return ObjectKey(
            (("brokerName", self.broker_name), ("queueId", self.queue_id), ("topic", self.topic))
        )


# Looked up once: access to an enum's member takes longer than the rest of the function.
_SINGLE_TAG: Final = TopicFilterType.SINGLE_TAG
_MULTI_TAG: Final = TopicFilterType.MULTI_TAG


def _filter_type(value: Json) -> TopicFilterType:
    # fastjson reads an unknown enum name as null, and null keeps the default.
    return _MULTI_TAG if value == _MULTI_TAG else _SINGLE_TAG
