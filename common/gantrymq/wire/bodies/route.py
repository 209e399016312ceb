"""Defines QueueData, BrokerData and TopicRouteData, the response to a route query.

    QueueData   {"brokerName":"b","perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}
    BrokerData  {"brokerAddrs":{0:"ip:port",1:"ip:port"},"brokerName":"b","cluster":"c",
                "enableActingMaster":false,"zoneName":"z"}                zoneName only when set
    TopicRouteData  {"brokerDatas":[...],"filterServerTable":{"ip:port":["ip:port"]},
                "orderTopicConf":"b:4;c:4","queueDatas":[...]}            orderTopicConf when set

The keys of `brokerAddrs` are broker ids, 0 the master. Static topics' `topicQueueMappingByBroker`
is ignored when read and never written.
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
    int_key,
    list_of,
    object_of,
    required_text_field,
    text_field,
    text_key,
)


@dataclass(frozen=True, slots=True)
class QueueData:
    """The queues of one topic on one broker name."""

    broker_name: str
    read_queue_nums: int
    write_queue_nums: int
    perm: int
    topic_sys_flag: int = 0

    @classmethod
    def from_json(cls, value: Json) -> QueueData:
        bean = object_of(value, "QueueData")
        # Before 4.9.0 the property was misspelt.
        flag = "topicSysFlag" if "topicSysFlag" in bean else "topicSynFlag"
        return cls(
            broker_name=required_text_field(bean, "brokerName"),
            read_queue_nums=int_field(bean, "readQueueNums"),
            write_queue_nums=int_field(bean, "writeQueueNums"),
            perm=int_field(bean, "perm"),
            topic_sys_flag=int_field(bean, flag),
        )

    def to_json(self) -> JsonObject:
        return {
            "brokerName": self.broker_name,
            "perm": self.perm,
            "readQueueNums": self.read_queue_nums,
            "topicSysFlag": self.topic_sys_flag,
            "writeQueueNums": self.write_queue_nums,
        }


@dataclass(frozen=True, slots=True)
class BrokerData:
    """The members of one broker name: broker id -> address."""

    cluster: str
    broker_name: str
    addresses: Mapping[int, str]
    enable_acting_master: bool = False
    zone_name: str | None = None

    @classmethod
    def from_json(cls, value: Json) -> BrokerData:
        bean = object_of(value, "BrokerData")
        return cls(
            cluster=text_field(bean, "cluster") or "",
            broker_name=required_text_field(bean, "brokerName"),
            addresses=addresses_from_json(bean.get("brokerAddrs")),
            enable_acting_master=bool_field(bean, "enableActingMaster"),
            zone_name=text_field(bean, "zoneName"),
        )

    def to_json(self) -> JsonObject:
        bean: JsonObject = {
            "brokerAddrs": addresses_to_json(self.addresses),
            "brokerName": self.broker_name,
            "cluster": self.cluster,
            "enableActingMaster": self.enable_acting_master,
        }
        if self.zone_name is not None:
            bean["zoneName"] = self.zone_name
        return bean


@dataclass(frozen=True, slots=True)
class TopicRouteData:
    """Everything that a client needs to reach one topic."""

    queues: tuple[QueueData, ...] = ()
    brokers: tuple[BrokerData, ...] = ()
    filter_servers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    order_topic_conf: str | None = None

    @classmethod
    def from_json(cls, value: Json) -> TopicRouteData:
        bean = object_of(value, "TopicRouteData")
        filters = object_of(bean.get("filterServerTable") or {}, "filterServerTable")
        return cls(
            queues=tuple(map(QueueData.from_json, list_of(bean.get("queueDatas"), "queueDatas"))),
            brokers=tuple(
                map(BrokerData.from_json, list_of(bean.get("brokerDatas"), "brokerDatas"))
            ),
            filter_servers={
                text_key(address, "filterServerTable"): texts_from_json(servers, "filter servers")
                for address, servers in filters.items()
            },
            order_topic_conf=text_field(bean, "orderTopicConf"),
        )

    def to_json(self) -> JsonObject:
        bean: JsonObject = {
            "brokerDatas": [broker.to_json() for broker in self.brokers],
            "filterServerTable": {
                address: list(servers) for address, servers in self.filter_servers.items()
            },
        }
        if self.order_topic_conf is not None:
            bean["orderTopicConf"] = self.order_topic_conf
        bean["queueDatas"] = [queue.to_json() for queue in self.queues]
        return bean


def addresses_from_json(table: Json) -> dict[int, str]:
    """A Map<Long,String> by broker id, keys in either form; null members are dropped."""
    members = object_of({} if table is None else table, "brokerAddrs")
    addresses: dict[int, str] = {}
    for key, value in members.items():
        address = text_field({"brokerAddrs": value}, "brokerAddrs")
        if address is not None:
            addresses[int_key(key, "brokerAddrs")] = address
    return addresses


def addresses_to_json(addresses: Mapping[int, str]) -> JsonObject:
    return {broker_id: addresses[broker_id] for broker_id in sorted(addresses)}


def texts_from_json(value: Json, what: str) -> tuple[str, ...]:
    """A List<String>; null members are dropped, as they have no meaning in RocketMQ's lists."""
    texts = (text_field({what: item}, what) for item in list_of(value, what))
    return tuple(text for text in texts if text is not None)
