"""How far each group has come in each queue: config/consumerOffset.json.

    {"dataVersion":DV,"offsetTable":{"topic@group":{queueId:offset}}}

Invariant: an offset goes back only when someone asks for that (`reset`); a commit that is behind
what is stored is counted, and carried out as Java does only where the client says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, final

from gantrymq.broker.core.files import Files
from gantrymq.broker.core.messages import File
from gantrymq.wire import javajson
from gantrymq.wire.bodies.shared import DataVersion
from gantrymq.wire.jsonvalue import JsonObject, int_key, long_of, object_of, text_key

SEPARATOR: Final = "@"

Place = tuple[str, str]
"""Topic and group."""


@final
class Offsets:
    """By topic and group, then by queue."""

    __slots__ = ("_files", "_table", "data_version")

    def __init__(self, files: Files) -> None:
        self._files = files
        self._table: dict[Place, dict[int, int]] = {}
        self.data_version = DataVersion()
        files.keep(File.OFFSETS, self.content)

    @property
    def all(self) -> Mapping[Place, Mapping[int, int]]:
        return MappingProxyType(self._table)

    def find(self, group: str, topic: str, queue_id: int) -> int | None:
        """The offset of the next message the group wants; None when it never said."""
        queues = self._table.get((topic, group))
        return None if queues is None else queues.get(queue_id)

    def topics_of(self, group: str) -> list[str]:
        return [topic for topic, owner in self._table if owner == group]

    def groups_of(self, topic: str) -> list[str]:
        return [group for owned, group in self._table if owned == topic]

    def commit(self, group: str, topic: str, queue_id: int, offset: int, due: float) -> None:
        """What a consumer has come to; on disk by `due`."""
        self._table.setdefault((topic, group), {})[queue_id] = offset
        self._files.touch(File.OFFSETS, due)

    def remove(self, group: str | None = None, topic: str | None = None) -> None:
        """All of a group, of a topic, or of a group in a topic."""
        gone = [
            place
            for place in self._table
            if (topic is None or place[0] == topic) and (group is None or place[1] == group)
        ]
        for place in gone:
            del self._table[place]
        if gone:
            self._files.touch(File.OFFSETS)

    # ------------------------------------------------------------------ the file

    def to_json(self) -> JsonObject:
        table: JsonObject = {
            f"{topic}{SEPARATOR}{group}": dict(queues.items())
            for (topic, group), queues in self._table.items()
        }
        return {"dataVersion": self.data_version.to_json(), "offsetTable": table}

    def content(self) -> bytes:
        return javajson.dumps_pretty(self.to_json())

    def load(self, content: bytes) -> None:
        """What a start finds. RemoteError where it is no such file."""
        bean = object_of(javajson.loads(content, len(content) * 2), "consumerOffset.json")
        self.data_version = DataVersion.from_json(bean.get("dataVersion") or {})
        table = object_of(bean.get("offsetTable") or {}, "offsetTable")
        for key, value in table.items():
            topic, separator, group = text_key(key, "offsetTable").partition(SEPARATOR)
            if separator:
                self._table[topic, group] = {
                    int_key(queue, "offsetTable"): long_of(offset, "offsetTable")
                    for queue, offset in object_of(value, "offsetTable").items()
                }
