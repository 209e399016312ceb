"""Defines heartbeats: the groups of a client, and their subscriptions."""

from __future__ import annotations

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.jsonvalue import (
    Json,
    JsonObject,
    bool_field,
    int_field,
    list_of,
    long_field,
    long_of,
    object_of,
    required_text_field,
    text_field,
    text_of,
)

EXPRESSION_TAG = "TAG"
EXPRESSION_SQL92 = "SQL92"
CLUSTERING = "CLUSTERING"
BROADCASTING = "BROADCASTING"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionData:
    """A group's subscription to a topic; `sub_version` is the time of its last change, in ms."""

    topic: str
    sub_string: str = "*"
    expression_type: str = EXPRESSION_TAG
    tags: tuple[str, ...] = ()
    codes: tuple[int, ...] = ()
    sub_version: int = 0
    class_filter_mode: bool = False

    @classmethod
    def from_json(cls, value: Json) -> SubscriptionData:
        bean = object_of(value, "SubscriptionData")
        tags = list_of(bean.get("tagsSet"), "tagsSet")
        codes = list_of(bean.get("codeSet"), "codeSet")
        return cls(
            topic=required_text_field(bean, "topic"),
            sub_string=text_field(bean, "subString") or "",
            expression_type=text_field(bean, "expressionType") or EXPRESSION_TAG,
            tags=tuple(text_of(tag, "tagsSet") for tag in tags),
            codes=tuple(long_of(code, "codeSet") for code in codes),
            sub_version=long_field(bean, "subVersion"),
            class_filter_mode=bool_field(bean, "classFilterMode"),
        )

    def to_json(self) -> JsonObject:
        return {
            "classFilterMode": self.class_filter_mode,
            "codeSet": [*self.codes],
            "expressionType": self.expression_type,
            "subString": self.sub_string,
            "subVersion": self.sub_version,
            "tagsSet": [*self.tags],
            "topic": self.topic,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerData:
    """One consumer group of a client."""

    group_name: str
    consume_type: str = "CONSUME_PASSIVELY"
    message_model: str = CLUSTERING
    consume_from_where: str = "CONSUME_FROM_LAST_OFFSET"
    subscriptions: tuple[SubscriptionData, ...] = ()
    unit_mode: bool = False

    @classmethod
    def from_json(cls, value: Json) -> ConsumerData:
        bean = object_of(value, "ConsumerData")
        subscriptions = list_of(bean.get("subscriptionDataSet"), "subscriptionDataSet")
        return cls(
            group_name=required_text_field(bean, "groupName"),
            consume_type=text_field(bean, "consumeType") or "CONSUME_PASSIVELY",
            message_model=text_field(bean, "messageModel") or CLUSTERING,
            consume_from_where=text_field(bean, "consumeFromWhere") or "CONSUME_FROM_LAST_OFFSET",
            subscriptions=tuple(SubscriptionData.from_json(each) for each in subscriptions),
            unit_mode=bool_field(bean, "unitMode"),
        )

    def to_json(self) -> JsonObject:
        return {
            "consumeFromWhere": self.consume_from_where,
            "consumeType": self.consume_type,
            "groupName": self.group_name,
            "messageModel": self.message_model,
            "subscriptionDataSet": [each.to_json() for each in self.subscriptions],
            "unitMode": self.unit_mode,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatData:
    """HEART_BEAT's body. With `without_sub` (5.x) the broker keeps the known subscriptions."""

    client_id: str
    consumers: tuple[ConsumerData, ...] = ()
    producer_groups: tuple[str, ...] = ()
    fingerprint: int = 0
    without_sub: bool = False

    @classmethod
    def from_json(cls, value: Json) -> HeartbeatData:
        bean = object_of(value, "HeartbeatData")
        consumers = list_of(bean.get("consumerDataSet"), "consumerDataSet")
        producers = list_of(bean.get("producerDataSet"), "producerDataSet")
        return cls(
            client_id=required_text_field(bean, "clientID"),
            consumers=tuple(ConsumerData.from_json(each) for each in consumers),
            producer_groups=tuple(
                required_text_field(object_of(each, "ProducerData"), "groupName")
                for each in producers
            ),
            fingerprint=int_field(bean, "heartbeatFingerprint"),
            without_sub=bool_field(bean, "withoutSub"),
        )

    def to_json(self) -> JsonObject:
        return {
            "clientID": self.client_id,
            "consumerDataSet": [each.to_json() for each in self.consumers],
            "heartbeatFingerprint": self.fingerprint,
            "producerDataSet": [{"groupName": group} for group in self.producer_groups],
            "withoutSub": self.without_sub,
        }
