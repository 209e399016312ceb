"""Stores the topics of this broker: config/topics.json, and the source of registrations.

    {"dataVersion":DV,"topicConfigTable":{topic:TopicConfig}}

Invariant: each change makes a new data version, marks the file for writing and calls the listeners.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, final

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.engine.files import Files
from gantrymq.broker.core.engine.table_texts import EntryTexts, member
from gantrymq.broker.core.messages import File
from gantrymq.wire import javajson
from gantrymq.wire.bodies.shared import DataVersion, TopicConfig
from gantrymq.wire.jsonvalue import object_of

Listener = Callable[[str, TopicConfig | None], None]

# A registration names all topics; RocketMQ's own, uncompressed, fills its frame with 60 000.
TOPICS_MAX: Final = 100_000


def queues_of(config: TopicConfig) -> int:
    """The queue count of the topic, for writing or reading, whichever is larger."""
    return max(config.read_queue_nums, config.write_queue_nums)


@final
class Topics:
    """The topic table of one broker, by name; listeners get None for a removed topic.

    A listener is called when a topic is created, changed, removed or saved.
    """

    __slots__ = (
        "_files",
        "_listeners",
        "_table",
        "_texts",
        "data_version",
        "queue_count",
        "unsaved",
    )

    def __init__(self, files: Files) -> None:
        self._files = files
        self._listeners: list[Listener] = []
        self._table: dict[str, TopicConfig] = {}
        self._texts: EntryTexts[str] = EntryTexts(self._member)
        self.data_version = DataVersion()
        self.queue_count: int = 0
        """The queues of all topics, empty ones included."""
        self.unsaved: set[str] = set()
        """Topics that were created and that a crash could still lose."""
        files.keep(File.TOPICS, self.content)

    def __len__(self) -> int:
        return len(self._table)

    @property
    def all(self) -> Mapping[str, TopicConfig]:
        return MappingProxyType(self._table)

    @property
    def is_full(self) -> bool:
        """Whether no further topic may be created."""
        return len(self._table) >= TOPICS_MAX

    def find(self, topic: str) -> TopicConfig | None:
        return self._table.get(topic)

    def listen(self, listener: Listener) -> None:
        """Call the listener for every existing topic, and at each change."""
        self._listeners.append(listener)
        for name, config in self._table.items():
            listener(name, config)

    def put(self, config: TopicConfig, wall_ms: int) -> bool:
        """Create or change a topic; return whether anything changed."""
        before = self._table.get(config.topic_name)
        if before == config:
            return False
        self.queue_count += queues_of(config) - (0 if before is None else queues_of(before))
        self._table[config.topic_name] = config
        self._texts.changed(config.topic_name)
        self._changed(config.topic_name, config, wall_ms)
        return True

    def remove(self, topic: str, wall_ms: int) -> bool:
        """Remove a topic; return whether it existed."""
        config = self._table.pop(topic, None)
        if config is None:
            return False
        self.queue_count -= queues_of(config)
        self._texts.removed(topic)
        self._changed(topic, None, wall_ms)
        return True

    def saved(self, topic: str) -> None:
        """Note that a crash can no longer lose the topic, and call the listeners."""
        self.unsaved.discard(topic)
        config = self._table.get(topic)
        for listener in self._listeners:
            listener(topic, config)

    def _changed(self, topic: str, config: TopicConfig | None, wall_ms: int) -> None:
        self.data_version = self.data_version.next(wall_ms)
        self._files.touch(File.TOPICS)
        for listener in self._listeners:
            listener(topic, config)

    # ------------------------------------------------------------------ the file

    def content(self) -> bytes:
        """The content of the file."""
        version = javajson.dumps_fastjson(self.data_version.to_json())
        table = self._texts.text()
        return b'{\n\t"dataVersion":%b,\n\t"topicConfigTable":%b\n}' % (version, table)

    def load(self, content: bytes) -> None:
        """Load the file at startup, before there are listeners. Raises RemoteError for malformed
        content."""
        self.data_version, self._table = _understood(content)
        self._count_queues()
        for topic in self._table:
            self._texts.changed(topic)

    def copy(self, content: bytes) -> None:
        """Take over the master's table with its version. Raises RemoteError for malformed
        content."""
        version, table = _understood(content)
        if not table:
            raise RemoteError("its table of topics is empty, which no broker's is")
        if version == self.data_version and table == self._table:
            return
        gone = self._table.keys() - table.keys()
        changed = [name for name, config in table.items() if self._table.get(name) != config]
        self.data_version, self._table = version, table
        self._count_queues()
        self._files.touch(File.TOPICS)
        for topic in gone:
            self._texts.removed(topic)
        for topic in changed:
            self._texts.changed(topic)
        for listener in self._listeners:
            for topic in (*gone, *changed):
                listener(topic, table.get(topic))

    def _count_queues(self) -> None:
        self.queue_count = sum(map(queues_of, self._table.values()))

    def _member(self, topic: str) -> bytes:
        return member(topic, self._table[topic].to_json())


def _understood(content: bytes) -> tuple[DataVersion, dict[str, TopicConfig]]:
    size = len(content)
    value = javajson.loads(content, size, values_max=size, dialect_values_max=size)
    bean = object_of(value, "topics.json")
    table = object_of(bean.get("topicConfigTable") or {}, "topicConfigTable")
    configs = [TopicConfig.from_json(value) for value in table.values()]
    version = DataVersion.from_json(bean.get("dataVersion") or {})
    return version, {config.topic_name: config for config in configs}
