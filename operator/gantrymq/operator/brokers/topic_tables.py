"""Keeps a reduced topic table of each master, and parses an answer only if it changed.

{"dataVersion":DV,"topicConfigTable":{topic:TopicConfig},"mappingDataVersion":DV,...}
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from gantrymq.operator.topics.values import BrokerTopic, TopicTable
from gantrymq.wire import javajson
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.jsonvalue import Json, object_of, text_key

SHARED_MAX: Final = 10_000
"""The number of distinct configurations that topics share: a cluster has few."""


@final
@dataclass(frozen=True, slots=True)
class Master:
    """The master of a group, with its address. The address alone does not identify it, because
    another broker may get the address."""

    cluster: str
    group: str
    address: str

    def lacks(self, table: TopicTable) -> tuple[str, ...]:
        """Return the topics that every broker of this cluster and group creates at its start, and
        that the table lacks; empty if it is this master's table.

        Three names are needed: another cluster may have a topic with the name of this cluster, and
        all clusters have groups of equal names.
        """
        own = (self.cluster, self.group, f"{self.cluster}_REPLY_TOPIC")
        return tuple(each for each in own if each not in table.topics)


@final
class TopicTables:
    """The topic tables of one cluster's masters. The ClusterTopics owns it."""

    __slots__ = ("_shared", "_tables")

    def __init__(self) -> None:
        self._tables: dict[Master, TopicTable] = {}
        self._shared: dict[tuple[object, ...], BrokerTopic] = {}

    def system(self, master: Master) -> frozenset[str] | None:
        """Return the system topics of the broker; None before it was asked."""
        known = self._tables.get(master)
        return None if known is None else known.system

    def read(self, master: Master, body: bytes, system: frozenset[str]) -> TopicTable:
        """Parse an answer to GET_ALL_TOPIC_CONFIG; return the table before if nothing changed."""
        version = hash(body)
        known = self._tables.get(master)
        if known is not None and known.version == version:
            return known
        before = {} if known is None else known.topics
        names = {name: name for name in before}
        table = object_of(javajson.loads(body), "TopicConfigSerializeWrapper")
        topics = {}
        if len(self._shared) > SHARED_MAX:
            self._shared.clear()
        for key, value in object_of(table.get("topicConfigTable") or {}, "table").items():
            name = text_key(key, "topicConfigTable")
            topics[names.get(name, name)] = self._reduced(value)
        read = self._tables[master] = TopicTable(version, topics, system)
        return read

    def forget(self, master: Master) -> None:
        """Forget a table, because another broker sent it."""
        self._tables.pop(master, None)

    def keep(self, masters: frozenset[Master]) -> None:
        """Forget the other masters."""
        if not self._tables.keys() <= masters:
            self._tables = {each: self._tables[each] for each in self._tables.keys() & masters}

    def _reduced(self, value: Json) -> BrokerTopic:
        """Return the shared value of a TopicConfig. Only a new one is parsed and checked."""
        bean = object_of(value, "TopicConfig")
        attributes = bean.get("attributes") or {}
        key = (
            bean.get("writeQueueNums"),
            bean.get("readQueueNums"),
            bean.get("perm"),
            bean.get("order"),
            bean.get("topicFilterType"),
            bean.get("topicSysFlag"),
            repr(attributes) if attributes else "",
        )
        known = self._shared.get(key)
        if known is None:
            known = self._shared[key] = _broker_topic(TopicConfig.from_json(value))
        return known


def _broker_topic(config: TopicConfig) -> BrokerTopic:
    return BrokerTopic(
        config.write_queue_nums,
        config.read_queue_nums,
        config.perm,
        config.order,
        tuple(sorted(config.attributes.items())),
        config.topic_filter_type.value,
        config.topic_sys_flag,
    )
