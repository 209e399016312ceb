"""The consumer groups of this broker: config/subscriptionGroup.json.

    {"dataVersion":DV,"forbiddenTable":{group:{topic:bits}},"subscriptionGroupTable":{group:CONFIG}}

Invariant: each change makes a new data version and touches the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, final

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.entry_texts import EntryTexts, member
from gantrymq.broker.core.files import Files
from gantrymq.broker.core.messages import File
from gantrymq.wire import javajson
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.shared import DataVersion, Permission
from gantrymq.wire.jsonvalue import JsonObject, int_field, object_of, text_key

# The file is written whole at each change, and answered whole: so many are 40 MB. A consumer that
# names new groups is stopped earlier.
GROUPS_MAX: Final = 100_000

# The bit of a permission; those of `forbidden` take it away.
READ_FORBIDDEN: Final = int(Permission.READ)


@final
class Groups:
    """By name."""

    __slots__ = ("_files", "_forbidden", "_table", "_texts", "data_version")

    def __init__(self, files: Files) -> None:
        self._files = files
        self._forbidden: dict[str, dict[str, int]] = {}
        self._table: dict[str, GroupConfig] = {}
        self._texts: EntryTexts[str] = EntryTexts(self._member)
        self.data_version = DataVersion()
        files.keep(File.GROUPS, self.content)

    def __len__(self) -> int:
        return len(self._table)

    @property
    def all(self) -> Mapping[str, GroupConfig]:
        return MappingProxyType(self._table)

    @property
    def is_full(self) -> bool:
        """Whether no group may be created any more."""
        return len(self._table) >= GROUPS_MAX

    def find(self, group: str) -> GroupConfig | None:
        return self._table.get(group)

    def put(self, config: GroupConfig, wall_ms: int) -> bool:
        """Create or change one; whether it was another one before."""
        if self._table.get(config.group_name) == config:
            return False
        self._table[config.group_name] = config
        self._texts.changed(config.group_name)
        self._changed(wall_ms)
        return True

    def remove(self, group: str, wall_ms: int) -> bool:
        """Whether it was there."""
        was_forbidden = self._forbidden.pop(group, None) is not None
        was_there = self._table.pop(group, None) is not None
        self._texts.removed(group)
        if was_there or was_forbidden:
            self._changed(wall_ms)
        return was_there

    def forbidden(self, group: str, topic: str) -> int:
        """The bits that say what the group must not do with the topic: READ_FORBIDDEN."""
        return self._forbidden.get(group, {}).get(topic, 0)

    def forbid(self, group: str, topic: str, bits: int, wall_ms: int) -> None:
        """Other topics keep their bits, whereas Java clears them all with one."""
        if bits == self.forbidden(group, topic):
            return
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

    def content(self) -> bytes:
        """The file, and the answer to GET_ALL_SUBSCRIPTIONGROUP_CONFIG."""
        forbidden: JsonObject = {
            group: dict(topics.items()) for group, topics in self._forbidden.items()
        }
        return (
            b'{\n\t"dataVersion":%b,\n\t"forbiddenTable":%b,\n\t"subscriptionGroupTable":%b\n}'
            % (
                javajson.dumps_fastjson(self.data_version.to_json()),
                javajson.dumps_fastjson(forbidden),
                self._texts.text(),
            )
        )

    def load(self, content: bytes) -> None:
        """What a start finds. RemoteError where it is no such file."""
        bean = _bean(content)
        self.data_version = DataVersion.from_json(bean.get("dataVersion") or {})
        self._table = _table_of(bean)
        for name in self._table:
            self._texts.changed(name)
        self._forbidden = _forbidden_of(bean)

    def copy(self, content: bytes) -> None:
        """Be as the master's, version and all. RemoteError where it is no such table."""
        bean = _bean(content)
        version = DataVersion.from_json(bean.get("dataVersion") or {})
        table, forbidden = _table_of(bean), _forbidden_of(bean)
        if not table:
            raise RemoteError("its table of groups is empty, which no broker's is")
        before = self._table
        if version == self.data_version and (table, forbidden) == (before, self._forbidden):
            return
        self.data_version, self._table, self._forbidden = version, table, forbidden
        for name in before.keys() - table.keys():
            self._texts.removed(name)
        for name, config in table.items():
            if before.get(name) != config:
                self._texts.changed(name)
        self._files.touch(File.GROUPS)

    def _member(self, group: str) -> bytes:
        return member(group, self._table[group].to_json())


def _bean(content: bytes) -> JsonObject:
    size = len(content)
    value = javajson.loads(content, size, values_max=size, dialect_values_max=size)
    return object_of(value, "subscriptionGroup.json")


def _table_of(bean: JsonObject) -> dict[str, GroupConfig]:
    table = object_of(bean.get("subscriptionGroupTable") or {}, "subscriptionGroupTable")
    configs = [GroupConfig.from_json(value) for value in table.values()]
    return {config.group_name: config for config in configs}


def _forbidden_of(bean: JsonObject) -> dict[str, dict[str, int]]:
    forbidden = object_of(bean.get("forbiddenTable") or {}, "forbiddenTable")
    return {
        text_key(group, "forbiddenTable"): _bits_of(object_of(topics, "forbiddenTable"))
        for group, topics in forbidden.items()
    }


def _bits_of(topics: JsonObject) -> dict[str, int]:
    return {
        text_key(topic, "forbiddenTable"): int_field(topics, text_key(topic, "topic"))
        for topic in topics
    }
