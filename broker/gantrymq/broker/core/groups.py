"""The consumer groups of this broker: config/subscriptionGroup.json.

    {"dataVersion":DV,"forbiddenTable":{group:{topic:bits}},"subscriptionGroupTable":{group:CONFIG}
     ,"autoCreatedGroups":[group]}

Java has no `autoCreatedGroups`, and reads over it: the groups that consumers created, and that no
administrator has changed since. They are removed when they are not used (group_expiry.py).

Invariants: each change makes a new data version and touches the file; an auto-created group is in
the table.
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
from gantrymq.wire.jsonvalue import (
    Json,
    JsonObject,
    int_field,
    list_of,
    object_of,
    text_key,
    text_of,
)

# The file is written whole at each change, and answered whole: so many are 40 MB. A consumer that
# names new groups is stopped earlier.
GROUPS_MAX: Final = 100_000

# The bit of a permission; those of `forbidden` take it away.
READ_FORBIDDEN: Final = int(Permission.READ)

# When a group was used last that has not been used since it was loaded.
UNKNOWN: Final = -1.0


@final
class Groups:
    """By name."""

    __slots__ = ("_auto_created", "_files", "_forbidden", "_table", "_texts", "data_version")

    def __init__(self, files: Files) -> None:
        self._auto_created: dict[str, float] = {}
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

    @property
    def auto_created(self) -> Mapping[str, float]:
        """When each group that a consumer created was used last; UNKNOWN if not since a start."""
        return MappingProxyType(self._auto_created)

    def create(self, config: GroupConfig, wall_ms: int, now: float) -> None:
        """A consumer creates a group."""
        self.put(config, wall_ms)
        self._auto_created[config.group_name] = now

    def used(self, group: str, now: float) -> bool:
        """A consumer uses the group; whether there is one."""
        if group in self._auto_created:
            self._auto_created[group] = now
            return True
        return group in self._table

    def put(self, config: GroupConfig, wall_ms: int) -> bool:
        """An administrator, or the broker itself, creates or changes one; whether it was another
        one before."""
        was_auto_created = self._auto_created.pop(config.group_name, None) is not None
        if self._table.get(config.group_name) == config:
            if was_auto_created:
                self._changed(wall_ms)
            return False
        self._table[config.group_name] = config
        self._texts.changed(config.group_name)
        self._changed(wall_ms)
        return True

    def remove(self, group: str, wall_ms: int) -> bool:
        """Whether it was there."""
        was_forbidden = self._forbidden.pop(group, None) is not None
        was_there = self._table.pop(group, None) is not None
        self._auto_created.pop(group, None)
        self._texts.removed(group)
        if was_there or was_forbidden:
            self._changed(wall_ms)
        return was_there

    def forbidden(self, group: str, topic: str) -> int:
        """The bits that say what the group must not do with the topic: READ_FORBIDDEN."""
        return self._forbidden.get(group, {}).get(topic, 0)

    def is_forbidden_any(self, group: str) -> bool:
        """Whether there is a topic that the group must not do everything with."""
        return group in self._forbidden

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
        """The file, and what members of a replicated group copy."""
        names = list(self._auto_created)
        return self.answer(b',\n\t"autoCreatedGroups":' + _names(names) if names else b"")

    def answer(self, more: bytes = b"") -> bytes:
        """The answer to GET_ALL_SUBSCRIPTIONGROUP_CONFIG, with more members at its end."""
        forbidden: JsonObject = {
            group: dict(topics.items()) for group, topics in self._forbidden.items()
        }
        return (
            b'{\n\t"dataVersion":%b,\n\t"forbiddenTable":%b,\n\t"subscriptionGroupTable":%b%b\n}'
            % (
                javajson.dumps_fastjson(self.data_version.to_json()),
                javajson.dumps_fastjson(forbidden),
                self._texts.text(),
                more,
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
        self._auto_created = dict.fromkeys(_auto_created_of(bean, self._table), UNKNOWN)

    def copy(self, content: bytes) -> None:
        """Be as the master's, version and all. RemoteError where it is no such table."""
        bean = _bean(content)
        version = DataVersion.from_json(bean.get("dataVersion") or {})
        table, forbidden = _table_of(bean), _forbidden_of(bean)
        if not table:
            raise RemoteError("its table of groups is empty, which no broker's is")
        before, used = self._table, self._auto_created
        if version == self.data_version and (table, forbidden) == (before, self._forbidden):
            return
        self.data_version, self._table, self._forbidden = version, table, forbidden
        self._auto_created = {
            name: used.get(name, UNKNOWN) for name in _auto_created_of(bean, table)
        }
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


def _names(names: list[str]) -> bytes:
    value: list[Json] = list(names)
    return javajson.dumps_fastjson(value)


def _auto_created_of(bean: JsonObject, table: Mapping[str, GroupConfig]) -> list[str]:
    listed = list_of(bean.get("autoCreatedGroups") or [], "autoCreatedGroups")
    names = [text_of(name, "autoCreatedGroups") for name in listed]
    return [name for name in names if name in table]


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
