"""Defines the response to QUERY_CONSUME_QUEUE: units of a queue as they are stored.

{"filterData":s?,"maxQueueIndex":l,"minQueueIndex":l,"queueData":[UNIT],"subscriptionData":{}?}
UNIT: {"eval":b,"physicOffset":l,"physicSize":i,"tagsCode":l,"msg":s?}
"""

from __future__ import annotations

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.bodies.heartbeat import SubscriptionData
from gantrymq.wire.jsonvalue import (
    Json,
    JsonObject,
    bool_field,
    int_field,
    list_of,
    long_field,
    object_of,
    text_field,
)


@dataclass(frozen=True, slots=True)
class QueueUnit:
    """One unit. `evaluates` says whether the group's filter matches; `remark` describes a fault."""

    physical_offset: int
    size: int
    tags_code: int
    evaluates: bool = False
    remark: str | None = None

    @classmethod
    def from_json(cls, value: Json) -> QueueUnit:
        bean = object_of(value, "ConsumeQueueData")
        return cls(
            long_field(bean, "physicOffset"),
            int_field(bean, "physicSize"),
            long_field(bean, "tagsCode"),
            bool_field(bean, "eval"),
            text_field(bean, "msg"),
        )

    def to_json(self) -> JsonObject:
        bean: JsonObject = {
            "eval": self.evaluates,
            "physicOffset": self.physical_offset,
            "physicSize": self.size,
            "tagsCode": self.tags_code,
        }
        if self.remark is not None:
            bean["msg"] = self.remark
        return bean


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeQueueBody:
    """The body. `filter_data` is Java's text: "null" without a filter, or that no client is
    online."""

    minimum: int
    maximum: int
    units: tuple[QueueUnit, ...] = ()
    filter_data: str | None = None
    subscription: SubscriptionData | None = None

    @classmethod
    def from_json(cls, value: Json) -> ConsumeQueueBody:
        bean = object_of(value, "QueryConsumeQueueResponseBody")
        subscription = bean.get("subscriptionData")
        return cls(
            minimum=long_field(bean, "minQueueIndex"),
            maximum=long_field(bean, "maxQueueIndex"),
            units=tuple(
                QueueUnit.from_json(unit) for unit in list_of(bean.get("queueData"), "queueData")
            ),
            filter_data=text_field(bean, "filterData"),
            subscription=None if subscription is None else SubscriptionData.from_json(subscription),
        )

    def to_json(self) -> JsonObject:
        bean: JsonObject = {}
        if self.filter_data is not None:
            bean["filterData"] = self.filter_data
        bean["maxQueueIndex"] = self.maximum
        bean["minQueueIndex"] = self.minimum
        bean["queueData"] = [unit.to_json() for unit in self.units]
        if self.subscription is not None:
            bean["subscriptionData"] = self.subscription.to_json()
        return bean
