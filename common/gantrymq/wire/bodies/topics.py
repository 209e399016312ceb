"""Defines TopicList, the response to all queries of topics: `{"brokerAddr":s,"topicList":["T"]}`.

`brokerAddr` occurs in the list of system topics only, and only if a broker is known.
"""

from __future__ import annotations

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.bodies.route import texts_from_json
from gantrymq.wire.jsonvalue import Json, JsonObject, object_of, text_field


@dataclass(frozen=True, slots=True)
class TopicList:
    """Names of topics; the order has no meaning."""

    topics: tuple[str, ...] = ()
    broker_address: str | None = None

    @classmethod
    def from_json(cls, value: Json) -> TopicList:
        bean = object_of(value, "TopicList")
        topics = texts_from_json(bean.get("topicList"), "topicList")
        return cls(topics, text_field(bean, "brokerAddr"))

    def to_json(self) -> JsonObject:
        bean: JsonObject = {}
        if self.broker_address is not None:
            bean["brokerAddr"] = self.broker_address
        bean["topicList"] = list(self.topics)
        return bean
