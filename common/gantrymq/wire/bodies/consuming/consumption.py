"""Defines the bodies about the topics that groups consume, and their lag.

GroupList                {"groupList":["g"]}
GroupForbidden           {"group":"g","readable":false,"topic":"T"}
QuerySubscriptionBody    {"group":"g","subscriptionData":SubscriptionData,"topic":"T"}
QueryConsumeTimeSpanBody {"consumeTimeSpanSet":[{"consumeTimeStamp":ms,"consumeTimeStampStr":TEXT,
                         "delayTime":7,"maxTimeStamp":ms,"maxTimeStampStr":TEXT,"messageQueue":
                         QUEUE,"minTimeStamp":ms,"minTimeStampStr":TEXT}]}

The texts of times are for people; Java peers derive theirs from the numbers. Here they are UTC.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Self

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.bodies.heartbeat import SubscriptionData
from gantrymq.wire.bodies.route import texts_from_json
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.jsonvalue import (
    Json,
    JsonObject,
    bool_field,
    list_of,
    long_field,
    object_of,
    required_text_field,
    text_field,
)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

# The end of the year 9999; later times cannot be formatted.
_TEXT_MS_MAX: Final = 253_402_300_799_999


@dataclass(frozen=True, slots=True)
class GroupList:
    """Names of consumer groups; the order has no meaning."""

    groups: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, value: Json) -> Self:
        return cls(texts_from_json(object_of(value, "GroupList").get("groupList"), "groupList"))

    def to_json(self) -> JsonObject:
        return {"groupList": [*self.groups]}


@dataclass(frozen=True, slots=True)
class GroupForbidden:
    """Whether a group may read a topic."""

    group: str
    topic: str
    readable: bool

    @classmethod
    def from_json(cls, value: Json) -> Self:
        bean = object_of(value, "GroupForbidden")
        return cls(
            required_text_field(bean, "group"),
            required_text_field(bean, "topic"),
            bool_field(bean, "readable"),
        )

    def to_json(self) -> JsonObject:
        return {"group": self.group, "readable": self.readable, "topic": self.topic}


@dataclass(frozen=True, slots=True)
class QuerySubscriptionBody:
    """A group's subscription to a topic; None if there is none."""

    group: str
    topic: str | None
    subscription: SubscriptionData | None

    @classmethod
    def from_json(cls, value: Json) -> Self:
        bean = object_of(value, "QuerySubscriptionResponseBody")
        data = bean.get("subscriptionData")
        return cls(
            required_text_field(bean, "group"),
            text_field(bean, "topic"),
            None if data is None else SubscriptionData.from_json(data),
        )

    def to_json(self) -> JsonObject:
        bean: JsonObject = {"group": self.group}
        if self.subscription is not None:
            bean["subscriptionData"] = self.subscription.to_json()
        if self.topic is not None:
            bean["topic"] = self.topic
        return bean


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueTimeSpan:
    """When a queue's oldest, newest and last consumed messages were stored, -1 for none; and how
    long the next message to consume has been waiting."""

    queue: MessageQueue
    min_ms: int
    max_ms: int
    consume_ms: int
    delay_ms: int = 0

    @classmethod
    def from_json(cls, value: Json) -> Self:
        bean = object_of(value, "QueueTimeSpan")
        return cls(
            queue=MessageQueue.from_json(bean.get("messageQueue")),
            min_ms=long_field(bean, "minTimeStamp"),
            max_ms=long_field(bean, "maxTimeStamp"),
            consume_ms=long_field(bean, "consumeTimeStamp"),
            delay_ms=long_field(bean, "delayTime"),
        )

    def to_json(self) -> JsonObject:
        return {
            "consumeTimeStamp": self.consume_ms,
            "consumeTimeStampStr": time_text(self.consume_ms),
            "delayTime": self.delay_ms,
            "maxTimeStamp": self.max_ms,
            "maxTimeStampStr": time_text(self.max_ms),
            "messageQueue": self.queue.to_json(),
            "minTimeStamp": self.min_ms,
            "minTimeStampStr": time_text(self.min_ms),
        }


@dataclass(frozen=True, slots=True)
class QueryConsumeTimeSpanBody:
    """The response to QUERY_CONSUME_TIME_SPAN."""

    spans: Sequence[QueueTimeSpan] = ()

    @classmethod
    def from_json(cls, value: Json) -> Self:
        spans = object_of(value, "QueryConsumeTimeSpanBody").get("consumeTimeSpanSet")
        return cls([QueueTimeSpan.from_json(each) for each in list_of(spans, "consumeTimeSpanSet")])

    def to_json(self) -> JsonObject:
        return {"consumeTimeSpanSet": [span.to_json() for span in self.spans]}


def time_text(wall_ms: int) -> str:
    """Format a time as Java does, in UTC: 2023-11-14#22:13:20:500."""
    moment = _EPOCH + timedelta(milliseconds=max(-1, min(wall_ms, _TEXT_MS_MAX)))
    return f"{moment:%Y-%m-%d#%H:%M:%S}:{moment.microsecond // 1000:03d}"
