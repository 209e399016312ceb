"""Keeps the topic table of each master, reduced, and takes it apart only when it changed.

{"dataVersion":DV,"topicConfigTable":{topic:TopicConfig},"mappingDataVersion":DV,...}
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.operator.topics.values import BrokerTopic, TopicTable
from gantrymq.wire import javajson
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.jsonvalue import Json, object_of, text_key

SHARED_MAX: Final = 10_000
"""Distinct configurations that are kept to be shared: a cluster has few."""


@final
class TopicTables:
    """The topic tables of one cluster, by the master's address."""

    __slots__ = ("_shared", "_tables")

    def __init__(self) -> None:
        self._tables: dict[str, TopicTable] = {}
        self._shared: dict[tuple[object, ...], BrokerTopic] = {}

    def system(self, address: str) -> frozenset[str] | None:
        """What the broker called topics of its own; None while it was not asked."""
        known = self._tables.get(address)
        return None if known is None else known.system

    def read(self, address: str, body: bytes, system: frozenset[str]) -> TopicTable:
        """The table in an answer to GET_ALL_TOPIC_CONFIG; the one before if it says the same."""
        version = hash(body)
        known = self._tables.get(address)
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
        read = self._tables[address] = TopicTable(version, topics, system)
        return read

    def keep(self, addresses: frozenset[str]) -> None:
        """Forget the other masters."""
        if not self._tables.keys() <= addresses:
            self._tables = {each: self._tables[each] for each in self._tables.keys() & addresses}

    def _reduced(self, value: Json) -> BrokerTopic:
        """The shared value of a TopicConfig; one that is new is checked."""
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
