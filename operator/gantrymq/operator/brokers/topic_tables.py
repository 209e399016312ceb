"""Keeps the topic table of each master, reduced, and takes it apart only when it changed.

{"dataVersion":DV,"topicConfigTable":{topic:TopicConfig},"mappingDataVersion":DV,...}
"""

from __future__ import annotations

from typing import final

from gantrymq.operator.topics.values import BrokerTopic, TopicTable
from gantrymq.wire import javajson
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.jsonvalue import object_of, text_key


@final
class TopicTables:
    """By the master's address."""

    __slots__ = ("_shared", "_tables")

    def __init__(self) -> None:
        self._tables: dict[str, TopicTable] = {}
        self._shared: dict[BrokerTopic, BrokerTopic] = {}

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
        for key, value in object_of(table.get("topicConfigTable") or {}, "table").items():
            name = text_key(key, "topicConfigTable")
            topics[names.get(name, name)] = self._reduced(TopicConfig.from_json(value))
        read = self._tables[address] = TopicTable(version, topics, system)
        return read

    def keep(self, addresses: frozenset[str]) -> None:
        """Forget the other masters, and values that no table has any more."""
        if self._tables.keys() <= addresses:
            return
        self._tables = {each: self._tables[each] for each in self._tables.keys() & addresses}
        used = {topic for table in self._tables.values() for topic in table.topics.values()}
        self._shared = {topic: topic for topic in used}

    def _reduced(self, config: TopicConfig) -> BrokerTopic:
        topic = BrokerTopic(
            config.write_queue_nums,
            config.read_queue_nums,
            config.perm,
            config.order,
            tuple(sorted(config.attributes.items())),
            config.topic_filter_type.value,
            config.topic_sys_flag,
        )
        return self._shared.setdefault(topic, topic)
