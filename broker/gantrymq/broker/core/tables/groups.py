"""Keeps the configurations of the broker's consumer groups, in config/subscriptionGroup.json.

    {"dataVersion":DV,"forbiddenTable":{group:{topic:bits}},"subscriptionGroupTable":{group:CONFIG}
     ,"autoCreatedGroups":[group]}

RocketMQ has no `autoCreatedGroups` and ignores it. It lists the groups that consumers created and
that no administrator has changed since. They are removed when they are unused (group_expiry.py).

Invariants: each change makes a new data version and schedules a write of the file; every
auto-created group is in the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, final

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.engine.files import Files
from gantrymq.broker.core.engine.table_texts import EntryTexts, member
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

# Each change writes the whole file, and requests get the whole table: with so many groups 40 MB.
# Groups that consumers create have a lower limit (group_creation.py).
GROUPS_MAX: Final = 100_000

# The permission bit for reading. A bit set in `forbidden` takes the permission away.
READ_FORBIDDEN: Final = int(Permission.READ)

# The last use of a group that has not been used since it was loaded.
UNKNOWN: Final = -1.0


@final
class Groups:
    """The group configurations of one broker, by group name."""

    __slots__ = (
        "_auto_created",
        "_files",
        "_forbidden",
        "_table",
        "_texts",
        "data_version",
        "next_removal",
    )

    def __init__(self, files: Files) -> None:
        self._auto_created: dict[str, float] = {}
        self._files = files
        self._forbidden: dict[str, dict[str, int]] = {}
        self._table: dict[str, GroupConfig] = {}
        self._texts: EntryTexts[str] = EntryTexts(self._member)
        self.data_version = DataVersion()
        self.next_removal: float = 0.0
        """When unused groups may be removed again to make room (group_expiry.py)."""
        files.keep(File.GROUPS, self.content)

    def __len__(self) -> int:
        return len(self._table)

    @property
    def all(self) -> Mapping[str, GroupConfig]:
        return MappingProxyType(self._table)

    @property
    def is_full(self) -> bool:
        """Whether the table has reached its limit, so that no group can be created."""
        return len(self._table) >= GROUPS_MAX

    def find(self, group: str) -> GroupConfig | None:
        return self._table.get(group)

    @property
    def auto_created(self) -> Mapping[str, float]:
        """The last use of each group that a consumer created; UNKNOWN if it was not used since the
        broker's start."""
        return MappingProxyType(self._auto_created)

    def create(self, config: GroupConfig, wall_ms: int, now: float) -> None:
        """Create a group that a consumer named."""
        self.put(config, wall_ms)
        self._auto_created[config.group_name] = now

    def used(self, group: str, now: float) -> bool:
        """Note that a consumer uses the group. Returns whether the group exists."""
        if group in self._auto_created:
            self._auto_created[group] = now
            return True
        return group in self._table

    def keep(self, group: str, wall_ms: int) -> None:
        """The group has messages to try again, which may be due only in hours: it never expires."""
        if self._auto_created.pop(group, None) is not None:
            self._changed(wall_ms)

    def put(self, config: GroupConfig, wall_ms: int) -> bool:
        """Create or change a group for an administrator or for the broker itself. Returns whether
        the configuration changed."""
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
        """Remove a group. Returns whether it existed."""
        was_forbidden = self._forbidden.pop(group, None) is not None
        was_there = self._table.pop(group, None) is not None
        self._auto_created.pop(group, None)
        self._texts.removed(group)
        if was_there or was_forbidden:
            self._changed(wall_ms)
        return was_there

    def forbidden(self, group: str, topic: str) -> int:
        """The permission bits that the group does not have for the topic, such as
        READ_FORBIDDEN."""
        return self._forbidden.get(group, {}).get(topic, 0)

    def is_forbidden_any(self, group: str) -> bool:
        """Whether the group lacks a permission for any topic."""
        return group in self._forbidden

    def forbid(self, group: str, topic: str, bits: int, wall_ms: int) -> None:
        """Set the forbidden bits of one topic. Other topics keep their bits; RocketMQ clears all
        bits of the group when it clears those of one topic."""
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
        """The content of the file, which is also the table that members of a replicated group
        copy."""
        names = list(self._auto_created)
        return self.answer(b',\n\t"autoCreatedGroups":' + _names(names) if names else b"")

    def answer(self, more: bytes = b"") -> bytes:
        """The answer to GET_ALL_SUBSCRIPTIONGROUP_CONFIG; `more` are JSON members added to its
        end."""
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
        """Load the content of the file at a start. RemoteError if it is not such a file."""
        bean = _bean(content)
        self.data_version = DataVersion.from_json(bean.get("dataVersion") or {})
        self._table = _table_of(bean)
        for name in self._table:
            self._texts.changed(name)
        self._forbidden = _forbidden_of(bean)
        self._auto_created = dict.fromkeys(_auto_created_of(bean, self._table), UNKNOWN)

    def copy(self, content: bytes) -> None:
        """Replace the table and its data version by the master's. RemoteError if `content` is not
        such a table, or is empty."""
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
