"""The consumer groups of this broker: config/subscriptionGroup.json.

    {"dataVersion":DV,"forbiddenTable":{group:{topic:bits}},"subscriptionGroupTable":{group:CONFIG}}

Invariant: each change makes a new data version and touches the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import final

from gantrymq.broker.core.files import Files
from gantrymq.broker.core.messages import File
from gantrymq.wire import javajson
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.shared import DataVersion
from gantrymq.wire.jsonvalue import JsonObject, int_field, object_of, text_key


@final
class Groups:
    """By name."""

    __slots__ = ("_files", "_forbidden", "_table", "data_version")

    def __init__(self, files: Files) -> None:
        self._files = files
        self._forbidden: dict[str, dict[str, int]] = {}
        self._table: dict[str, GroupConfig] = {}
        self.data_version = DataVersion()
        files.keep(File.GROUPS, self.content)

    def __len__(self) -> int:
        return len(self._table)

    @property
    def all(self) -> Mapping[str, GroupConfig]:
        return MappingProxyType(self._table)

    def find(self, group: str) -> GroupConfig | None:
        return self._table.get(group)

    def put(self, config: GroupConfig, wall_ms: int) -> None:
        """Create or change one."""
        if self._table.get(config.group_name) != config:
            self._table[config.group_name] = config
            self._changed(wall_ms)

    def remove(self, group: str, wall_ms: int) -> bool:
        """Whether it was there."""
        self._forbidden.pop(group, None)
        if self._table.pop(group, None) is None:
            return False
        self._changed(wall_ms)
        return True

    def forbidden(self, group: str, topic: str) -> int:
        """The bits that say what the group must not do with the topic; bit 0: read."""
        return self._forbidden.get(group, {}).get(topic, 0)

    def forbid(self, group: str, topic: str, bits: int, wall_ms: int) -> None:
        topics = self._forbidden.setdefault(group, {})
        if bits:
            topics[topic] = bits
        else:
            topics.pop(topic, None)
        if not topics:
            del self._forbidden[group]
        self._changed(wall_ms)

    def _changed(self, wall_ms: int) -> None:
        self.data_version = self.data_version.next(wall_ms)
        self._files.touch(File.GROUPS)

    # ------------------------------------------------------------------ the file

    def to_json(self) -> JsonObject:
        forbidden: JsonObject = {
            group: dict(topics.items()) for group, topics in self._forbidden.items()
        }
        table: JsonObject = {name: config.to_json() for name, config in self._table.items()}
        return {
            "dataVersion": self.data_version.to_json(),
            "forbiddenTable": forbidden,
            "subscriptionGroupTable": table,
        }

    def content(self) -> bytes:
        return javajson.dumps_pretty(self.to_json())

    def load(self, content: bytes) -> None:
        """What a start finds. RemoteError where it is no such file."""
        bean = object_of(javajson.loads(content, len(content) * 2), "subscriptionGroup.json")
        self.data_version = DataVersion.from_json(bean.get("dataVersion") or {})
        table = object_of(bean.get("subscriptionGroupTable") or {}, "subscriptionGroupTable")
        configs = [GroupConfig.from_json(value) for value in table.values()]
        self._table = {config.group_name: config for config in configs}
        forbidden = object_of(bean.get("forbiddenTable") or {}, "forbiddenTable")
        for group, value in forbidden.items():
            topics = object_of(value, "forbiddenTable")
            self._forbidden[text_key(group, "forbiddenTable")] = {
                text_key(topic, "forbiddenTable"): int_field(topics, text_key(topic, "topic"))
                for topic in topics
            }
