"""Defines ClusterInfo and BrokerMemberGroup: the members of clusters and of broker names.

ClusterInfo        {"brokerAddrTable":{"b":BrokerData},"clusterAddrTable":{"c":["b"]}}
BrokerMemberGroup  {"brokerMemberGroup":{"brokerAddrs":{0:"ip:port"},"brokerName":"b",
                   "cluster":"c"}}          the wrapper object is part of the body
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.bodies.route import (
    BrokerData,
    addresses_from_json,
    addresses_to_json,
    texts_from_json,
)
from gantrymq.wire.jsonvalue import Json, JsonObject, object_of, text_field, text_key


@dataclass(frozen=True, slots=True)
class ClusterInfo:
    """All brokers that a name server knows, by name, and the broker names of each cluster."""

    brokers: Mapping[str, BrokerData] = field(default_factory=dict)
    clusters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def from_json(cls, value: Json) -> ClusterInfo:
        bean = object_of(value, "ClusterInfo")
        brokers = object_of(bean.get("brokerAddrTable") or {}, "brokerAddrTable")
        clusters = object_of(bean.get("clusterAddrTable") or {}, "clusterAddrTable")
        return cls(
            {
                text_key(name, "brokerAddrTable"): BrokerData.from_json(broker)
                for name, broker in brokers.items()
            },
            {
                text_key(name, "clusterAddrTable"): texts_from_json(names, "clusterAddrTable")
                for name, names in clusters.items()
            },
        )

    def to_json(self) -> JsonObject:
        return {
            "brokerAddrTable": {name: broker.to_json() for name, broker in self.brokers.items()},
            "clusterAddrTable": {name: list(names) for name, names in self.clusters.items()},
        }


@dataclass(frozen=True, slots=True)
class BrokerMemberGroup:
    """The members of one broker name, as its brokers request them."""

    cluster: str | None
    broker_name: str | None
    addresses: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, value: Json) -> BrokerMemberGroup:
        body = object_of(value, "GetBrokerMemberGroupResponseBody")
        bean = object_of(body.get("brokerMemberGroup") or {}, "brokerMemberGroup")
        return cls(
            text_field(bean, "cluster"),
            text_field(bean, "brokerName"),
            addresses_from_json(bean.get("brokerAddrs")),
        )

    def to_json(self) -> JsonObject:
        bean: JsonObject = {"brokerAddrs": addresses_to_json(self.addresses)}
        if self.broker_name is not None:
            bean["brokerName"] = self.broker_name
        if self.cluster is not None:
            bean["cluster"] = self.cluster
        return {"brokerMemberGroup": bean}
