"""Stores by topic whether groups pull or pop it: config/messageRequestMode.json.

Administrators set the modes.

    {"messageRequestModeMap":{topic:{group:MODE}}}

The default is to pull.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.broker.core.engine.files import Files
from gantrymq.broker.core.messages import File
from gantrymq.wire import javajson
from gantrymq.wire.bodies.consuming.pops import TopicMode
from gantrymq.wire.jsonvalue import JsonObject, object_of, text_key

# Administrators set them one by one.
MODES_MAX: Final = 100_000


@final
class RequestModes:
    """The broker's request modes, by topic and then by group."""

    __slots__ = ("_count", "_files", "_table")

    def __init__(self, files: Files) -> None:
        self._files = files
        self._table: dict[str, dict[str, TopicMode]] = {}
        self._count = 0
        files.keep(File.MODES, self.content)

    @property
    def is_full(self) -> bool:
        return self._count >= MODES_MAX

    def find(self, topic: str, group: str) -> TopicMode | None:
        return self._table.get(topic, {}).get(group)

    def put(self, mode: TopicMode) -> None:
        self._put(mode)
        self._files.touch(File.MODES)

    def _put(self, mode: TopicMode) -> None:
        groups = self._table.setdefault(mode.topic, {})
        self._count += mode.consumer_group not in groups
        groups[mode.consumer_group] = mode

    # ------------------------------------------------------------------ the file

    def content(self) -> bytes:
        """The content of the file, and the answer to GET_ALL_MESSAGE_REQUEST_MODE."""
        table: JsonObject = {
            topic: {group: mode.to_json() for group, mode in groups.items()}
            for topic, groups in self._table.items()
        }
        return javajson.dumps_fastjson({"messageRequestModeMap": table})

    def load(self, content: bytes) -> None:
        """Load the file at startup. Raises RemoteError for malformed content."""
        for mode in _understood(content):
            self._put(mode)

    def copy(self, content: bytes) -> None:
        """Take over the master's table. Raises RemoteError for malformed content."""
        modes, before = _understood(content), self._table
        self._table, self._count = {}, 0
        for mode in modes:
            self._put(mode)
        if self._table != before:
            self._files.touch(File.MODES)


def _understood(content: bytes) -> list[TopicMode]:
    size = len(content)
    value = javajson.loads(content, size, values_max=size, dialect_values_max=size)
    bean = object_of(value, "messageRequestMode.json")
    table = object_of(bean.get("messageRequestModeMap") or {}, "messageRequestModeMap")
    return [
        TopicMode.from_json(mode)
        for topic, groups in table.items()
        for mode in object_of(groups, text_key(topic, "messageRequestModeMap")).values()
    ]
