"""Defines the configuration of a consumer group, in Java's JSON.

Retry policies and attributes are kept unchanged: Java 5.x writes and reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.jsonvalue import (
    Json,
    JsonObject,
    bool_field,
    int_field,
    long_field,
    object_of,
    required_text_field,
    text_map_field,
)

DEFAULT_RETRY_POLICY: JsonObject = {"type": "CUSTOMIZED"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConfig:
    """The configuration of one group on one broker."""

    group_name: str
    consume_enable: bool = True
    consume_from_min_enable: bool = True
    consume_broadcast_enable: bool = True
    consume_message_orderly: bool = False
    retry_queue_nums: int = 1
    retry_max_times: int = 16
    retry_policy: JsonObject = field(default_factory=lambda: dict(DEFAULT_RETRY_POLICY))
    broker_id: int = 0
    which_broker_when_consume_slowly: int = 1
    notify_consumer_ids_changed_enable: bool = True
    group_sys_flag: int = 0
    consume_timeout_minute: int = 15
    subscription_data_set: Json = None
    attributes: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, value: Json) -> GroupConfig:
        bean = object_of(value, "SubscriptionGroupConfig")
        policy = bean.get("groupRetryPolicy")
        return cls(
            group_name=required_text_field(bean, "groupName"),
            consume_enable=bool_field(bean, "consumeEnable", default=True),
            consume_from_min_enable=bool_field(bean, "consumeFromMinEnable", default=True),
            consume_broadcast_enable=bool_field(bean, "consumeBroadcastEnable", default=True),
            consume_message_orderly=bool_field(bean, "consumeMessageOrderly"),
            retry_queue_nums=int_field(bean, "retryQueueNums", 1),
            retry_max_times=int_field(bean, "retryMaxTimes", 16),
            retry_policy=object_of(policy or dict(DEFAULT_RETRY_POLICY), "groupRetryPolicy"),
            broker_id=long_field(bean, "brokerId"),
            which_broker_when_consume_slowly=long_field(bean, "whichBrokerWhenConsumeSlowly", 1),
            notify_consumer_ids_changed_enable=bool_field(
                bean, "notifyConsumerIdsChangedEnable", default=True
            ),
            group_sys_flag=int_field(bean, "groupSysFlag"),
            consume_timeout_minute=int_field(bean, "consumeTimeoutMinute", 15),
            subscription_data_set=bean.get("subscriptionDataSet"),
            attributes=text_map_field(bean, "attributes"),
        )

    def to_json(self) -> JsonObject:
        attributes: JsonObject = dict(self.attributes.items())
        bean: JsonObject = {
            "attributes": attributes,
            "brokerId": self.broker_id,
            "consumeBroadcastEnable": self.consume_broadcast_enable,
            "consumeEnable": self.consume_enable,
            "consumeFromMinEnable": self.consume_from_min_enable,
            "consumeMessageOrderly": self.consume_message_orderly,
            "consumeTimeoutMinute": self.consume_timeout_minute,
            "groupName": self.group_name,
            "groupRetryPolicy": self.retry_policy,
            "groupSysFlag": self.group_sys_flag,
            "notifyConsumerIdsChangedEnable": self.notify_consumer_ids_changed_enable,
            "retryMaxTimes": self.retry_max_times,
            "retryQueueNums": self.retry_queue_nums,
            "whichBrokerWhenConsumeSlowly": self.which_broker_when_consume_slowly,
        }
        if self.subscription_data_set is not None:
            bean["subscriptionDataSet"] = self.subscription_data_set
        return bean
