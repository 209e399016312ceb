"""Defines the bodies about clients connected to a broker and the offsets of single clients.

ConsumerConnection     {"connectionSet":[Connection],"consumeFromWhere":"…","consumeType":"…",
                       "messageModel":"…","subscriptionTable":{topic:SubscriptionData}}
ProducerConnection     {"connectionSet":[Connection]}
Connection             {"clientAddr":"ip:port","clientId":"c","language":"JAVA","version":479}
ProducerTableInfo      {"data":{group:[{"clientId":"c","language":"JAVA",
                       "lastUpdateTimestamp":MS,"remoteIP":"/ip:port","version":479}]}}
GetConsumerListByGroupResponseBody  {"consumerIdList":["c"]}
GetConsumerStatusBody  {"consumerTable":{"c":{MQ:offset}},"messageQueueTable":{MQ:offset}}
                       a client fills the second for one topic, a broker collects those in the first
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.bodies.heartbeat import SubscriptionData
from gantrymq.wire.bodies.route import texts_from_json
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import LanguageCode
from gantrymq.wire.jsonvalue import (
    Json,
    JsonObject,
    int_field,
    list_of,
    long_field,
    long_of,
    object_of,
    text_field,
    text_key,
)

Progress = Mapping[MessageQueue, int]
"""The offset of the next message, by queue."""


def language_name(code: int) -> str:
    """Java's name of a language; a language without one is OTHER."""
    try:
        return LanguageCode(code).name
    except ValueError:
        return LanguageCode.OTHER.name


@dataclass(frozen=True, slots=True)
class Connection:
    """A client in a group."""

    client_address: str
    client_id: str
    language: str
    version: int

    @classmethod
    def from_json(cls, value: Json) -> Connection:
        bean = object_of(value, "Connection")
        return cls(
            text_field(bean, "clientAddr") or "",
            text_field(bean, "clientId") or "",
            text_field(bean, "language") or LanguageCode.OTHER.name,
            int_field(bean, "version"),
        )

    def to_json(self) -> JsonObject:
        return {
            "clientAddr": self.client_address,
            "clientId": self.client_id,
            "language": self.language,
            "version": self.version,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerConnection:
    """The response to GET_CONSUMER_CONNECTION_LIST."""

    connections: tuple[Connection, ...] = ()
    consume_from_where: str
    consume_type: str
    message_model: str
    subscriptions: Mapping[str, SubscriptionData] = field(default_factory=dict)

    @classmethod
    def from_json(cls, value: Json) -> ConsumerConnection:
        bean = object_of(value, "ConsumerConnection")
        table = object_of(bean.get("subscriptionTable") or {}, "subscriptionTable")
        return cls(
            connections=_connections(bean),
            consume_from_where=text_field(bean, "consumeFromWhere") or "",
            consume_type=text_field(bean, "consumeType") or "",
            message_model=text_field(bean, "messageModel") or "",
            subscriptions={
                text_key(topic, "subscriptionTable"): SubscriptionData.from_json(each)
                for topic, each in table.items()
            },
        )

    def to_json(self) -> JsonObject:
        return {
            "connectionSet": [each.to_json() for each in self.connections],
            "consumeFromWhere": self.consume_from_where,
            "consumeType": self.consume_type,
            "messageModel": self.message_model,
            "subscriptionTable": {
                topic: each.to_json() for topic, each in self.subscriptions.items()
            },
        }


@dataclass(frozen=True, slots=True)
class ProducerConnection:
    """The response to GET_PRODUCER_CONNECTION_LIST."""

    connections: tuple[Connection, ...] = ()

    @classmethod
    def from_json(cls, value: Json) -> ProducerConnection:
        return cls(_connections(object_of(value, "ProducerConnection")))

    def to_json(self) -> JsonObject:
        return {"connectionSet": [each.to_json() for each in self.connections]}


@dataclass(frozen=True, slots=True)
class ProducerInfo:
    """A client in a producer group, and the time of its last sign of life."""

    client_id: str
    language: str
    heard_ms: int
    remote_ip: str
    version: int

    @classmethod
    def from_json(cls, value: Json) -> ProducerInfo:
        bean = object_of(value, "ProducerInfo")
        return cls(
            text_field(bean, "clientId") or "",
            text_field(bean, "language") or LanguageCode.OTHER.name,
            long_field(bean, "lastUpdateTimestamp"),
            text_field(bean, "remoteIP") or "",
            int_field(bean, "version"),
        )

    def to_json(self) -> JsonObject:
        return {
            "clientId": self.client_id,
            "language": self.language,
            "lastUpdateTimestamp": self.heard_ms,
            "remoteIP": self.remote_ip,
            "version": self.version,
        }


@dataclass(frozen=True, slots=True)
class ProducerTable:
    """The response to GET_ALL_PRODUCER_INFO: producers by group."""

    groups: Mapping[str, tuple[ProducerInfo, ...]] = field(default_factory=dict)

    @classmethod
    def from_json(cls, value: Json) -> ProducerTable:
        table = object_of(object_of(value, "ProducerTableInfo").get("data") or {}, "data")
        return cls(
            {
                text_key(group, "data"): tuple(
                    ProducerInfo.from_json(each) for each in list_of(infos, "data")
                )
                for group, infos in table.items()
            }
        )

    def to_json(self) -> JsonObject:
        return {
            "data": {
                group: [each.to_json() for each in infos] for group, infos in self.groups.items()
            }
        }


@dataclass(frozen=True, slots=True)
class ConsumerIds:
    """The response to GET_CONSUMER_LIST_BY_GROUP."""

    ids: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, value: Json) -> ConsumerIds:
        bean = object_of(value, "GetConsumerListByGroupResponseBody")
        return cls(texts_from_json(bean.get("consumerIdList"), "consumerIdList"))

    def to_json(self) -> JsonObject:
        return {"consumerIdList": [*self.ids]}


@dataclass(frozen=True, slots=True)
class ConsumerStatus:
    """The response to GET_CONSUMER_STATUS_FROM_CLIENT and INVOKE_BROKER_TO_GET_CONSUMER_STATUS."""

    by_client: Mapping[str, Progress] = field(default_factory=dict)
    progress: Progress = field(default_factory=dict)

    @classmethod
    def from_json(cls, value: Json) -> ConsumerStatus:
        bean = object_of(value, "GetConsumerStatusBody")
        table = object_of(bean.get("consumerTable") or {}, "consumerTable")
        return cls(
            {text_key(client, "consumerTable"): _progress(each) for client, each in table.items()},
            _progress(bean.get("messageQueueTable")),
        )

    def to_json(self) -> JsonObject:
        return {
            "consumerTable": {
                client: _progress_json(progress) for client, progress in self.by_client.items()
            },
            "messageQueueTable": _progress_json(self.progress),
        }


def _connections(bean: JsonObject) -> tuple[Connection, ...]:
    return tuple(
        Connection.from_json(each) for each in list_of(bean.get("connectionSet"), "connectionSet")
    )


def _progress(value: Json) -> Progress:
    table = object_of(value or {}, "messageQueueTable")
    return {
        MessageQueue.from_key(queue): long_of(offset, "messageQueueTable")
        for queue, offset in table.items()
    }


def _progress_json(progress: Progress) -> JsonObject:
    return {queue.to_key(): offset for queue, offset in progress.items()}
