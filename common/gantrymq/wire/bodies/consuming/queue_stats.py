"""Defines the statistics of queues, and of the groups that consume them.

    TopicStatsTable   {"offsetTable":{QUEUE:{"lastUpdateTimestamp":ms,"maxOffset":5,"minOffset":0}},
                      "topicPutTps":0.0}
    ConsumeStats      {"consumeTps":0.0,"offsetTable":{QUEUE:{"brokerOffset":5,"consumerOffset":3,
                      "lastTimestamp":ms,"pullOffset":4}}}
    ConsumeStatsList  {"brokerAddr":"ip:port","consumeStatsList":[{"group":[ConsumeStats]}],
                      "totalDiff":2,"totalInflightDiff":1}

A broker has tens of thousands of such entries. They are encoded one by one, by `entry`, so that the
collector can let other work run in between; the functions below put the rest around them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Self

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire import javajson
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.jsonvalue import (
    Json,
    JsonObject,
    float_field,
    list_of,
    long_field,
    object_of,
    text_field,
    text_key,
)


@dataclass(frozen=True, slots=True)
class TopicOffset:
    """A queue's offsets, and when its last message was stored, 0 if it has none."""

    min_offset: int
    max_offset: int
    last_update_ms: int

    @classmethod
    def from_json(cls, value: Json) -> Self:
        bean = object_of(value, "TopicOffset")
        return cls(
            long_field(bean, "minOffset"),
            long_field(bean, "maxOffset"),
            long_field(bean, "lastUpdateTimestamp"),
        )

    def to_json(self) -> JsonObject:
        return {
            "lastUpdateTimestamp": self.last_update_ms,
            "maxOffset": self.max_offset,
            "minOffset": self.min_offset,
        }


@dataclass(frozen=True, slots=True)
class ConsumedOffset:
    """A group's progress in a queue; `last_ms` is when the last consumed message was stored."""

    broker_offset: int
    consumer_offset: int
    pull_offset: int = 0
    last_ms: int = 0

    @classmethod
    def from_json(cls, value: Json) -> Self:
        bean = object_of(value, "OffsetWrapper")
        return cls(
            long_field(bean, "brokerOffset"),
            long_field(bean, "consumerOffset"),
            long_field(bean, "pullOffset"),
            long_field(bean, "lastTimestamp"),
        )

    def to_json(self) -> JsonObject:
        return {
            "brokerOffset": self.broker_offset,
            "consumerOffset": self.consumer_offset,
            "lastTimestamp": self.last_ms,
            "pullOffset": self.pull_offset,
        }


@dataclass(frozen=True, slots=True)
class TopicStatsTable:
    """The response to GET_TOPIC_STATS_INFO."""

    queues: Mapping[MessageQueue, TopicOffset] = field(default_factory=dict)
    put_tps: float = 0.0

    @classmethod
    def from_json(cls, value: Json) -> Self:
        bean = object_of(value, "TopicStatsTable")
        table = object_of(bean.get("offsetTable") or {}, "offsetTable")
        return cls(
            {
                MessageQueue.from_key(key): TopicOffset.from_json(each)
                for key, each in table.items()
            },
            float_field(bean, "topicPutTps"),
        )


@dataclass(frozen=True, slots=True)
class ConsumeStats:
    """The response to GET_CONSUME_STATS; 4.9 peers send no pull offsets."""

    queues: Mapping[MessageQueue, ConsumedOffset] = field(default_factory=dict)
    consume_tps: float = 0.0

    @classmethod
    def from_json(cls, value: Json) -> Self:
        bean = object_of(value, "ConsumeStats")
        table = object_of(bean.get("offsetTable") or {}, "offsetTable")
        return cls(
            {
                MessageQueue.from_key(key): ConsumedOffset.from_json(each)
                for key, each in table.items()
            },
            float_field(bean, "consumeTps"),
        )


@dataclass(frozen=True, slots=True)
class ConsumeStatsList:
    """The response to GET_BROKER_CONSUME_STATS: a list of topics for each group."""

    broker_address: str | None = None
    groups: Sequence[tuple[str, Sequence[ConsumeStats]]] = ()
    total_diff: int = 0
    total_inflight_diff: int = 0

    @classmethod
    def from_json(cls, value: Json) -> Self:
        bean = object_of(value, "ConsumeStatsList")
        groups = [
            (
                text_key(group, "consumeStatsList"),
                [ConsumeStats.from_json(each) for each in list_of(stats, "consumeStatsList")],
            )
            for item in list_of(bean.get("consumeStatsList"), "consumeStatsList")
            for group, stats in object_of(item, "consumeStatsList").items()
        ]
        return cls(
            text_field(bean, "brokerAddr"),
            groups,
            long_field(bean, "totalDiff"),
            long_field(bean, "totalInflightDiff"),
        )


def entry(queue: MessageQueue, offset: TopicOffset | ConsumedOffset) -> bytes:
    """One member of an `offsetTable`."""
    return javajson.dumps_fastjson({queue.to_key(): offset.to_json()})[1:-1]


def topic_stats(entries: Iterable[bytes], put_tps: float) -> bytes:
    """The TopicStatsTable with these entries."""
    tps = javajson.java_double(put_tps).encode()
    return b'{"offsetTable":{%b},"topicPutTps":%b}' % (b",".join(entries), tps)


def consume_stats(entries: Iterable[bytes], consume_tps: float) -> bytes:
    """The ConsumeStats with these entries."""
    tps = javajson.java_double(consume_tps).encode()
    return b'{"consumeTps":%b,"offsetTable":{%b}}' % (tps, b",".join(entries))


def group_stats(group: str, topics: Iterable[bytes]) -> bytes:
    """One item of a ConsumeStatsList: the `consume_stats` of a group's topics."""
    return b"{%b:[%b]}" % (javajson.dumps_fastjson(group), b",".join(topics))


def consume_stats_list(
    broker_address: str, groups: Iterable[bytes], total_diff: int, total_inflight_diff: int
) -> bytes:
    """The ConsumeStatsList with these `group_stats`."""
    return b'{"brokerAddr":%b,"consumeStatsList":[%b],"totalDiff":%d,"totalInflightDiff":%d}' % (
        javajson.dumps_fastjson(broker_address),
        b",".join(groups),
        total_diff,
        total_inflight_diff,
    )
