"""How far each group has come in each queue: config/consumerOffset.json.

    {"dataVersion":DV,"offsetTable":{"topic@group":{queueId:offset}}}

Java 5.x writes `groupTopicMap` too, which says the same again and is left out, and keeps how far
broadcasting clients have come under "topic@group@broadcast": those stay as they are.

Invariants. An entry counts its queues; no more than `limit` are kept. A commit that is behind
what is stored is carried out, as in Java, since clients do go back on purpose: `commit` answers the
offset it replaced, so that whoever calls it can say so. What consumers were last told to pull is in
memory only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple, final

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.entry_texts import EntryTexts
from gantrymq.broker.core.files import Files
from gantrymq.broker.core.messages import File
from gantrymq.wire import javajson
from gantrymq.wire.bodies.shared import DataVersion
from gantrymq.wire.jsonvalue import int_key, long_of, object_of, text_key

SEPARATOR: Final = "@"

# Offsets of queues, of all groups: 100 MB of memory, 25 MB of file where a group consumes many
# queues of a topic. Far beyond it a hostile client is at work, or groups nobody deletes; where each
# group consumes one queue, maxPeerMemory is reached earlier (table_memory.py).
OFFSETS_MAX: Final = 1_000_000

# Java's: a version for each commit would have slaves fetch the table all the time.
COMMITS_A_VERSION: Final = 500

Place = tuple[str, str]
"""Topic and group."""


class OffsetTable(NamedTuple):
    """A file's, or another broker's."""

    version: DataVersion
    offsets: dict[Place, dict[int, int]]


@final
class Offsets:
    """By group and topic, then by queue."""

    __slots__ = (
        "_commits",
        "_count",
        "_files",
        "_groups",
        "_pulled",
        "_texts",
        "backward_commits",
        "data_version",
        "limit",
    )

    def __init__(self, files: Files) -> None:
        self._files = files
        self._groups: dict[str, dict[str, dict[int, int]]] = {}
        self._texts: EntryTexts[Place] = EntryTexts(self._member)
        self._pulled: dict[Place, dict[int, int]] = {}
        self._commits = 0
        self._count = 0
        self.limit = OFFSETS_MAX
        self.backward_commits = 0
        """Commits behind what was stored, since the start."""
        self.data_version = DataVersion()
        files.keep(File.OFFSETS, self.content)

    def __len__(self) -> int:
        """Offsets of queues."""
        return self._count

    @property
    def place_count(self) -> int:
        """Pairs of a topic and a group that has an offset in it."""
        return len(self._texts)

    @property
    def is_full(self) -> bool:
        """Whether no group may have an offset in a queue where it had none."""
        return self._count >= self.limit

    def places(self) -> Iterator[tuple[str, str, Mapping[int, int]]]:
        """Group, topic and offsets by queue; those of broadcasting clients too."""
        for group, topics in self._groups.items():
            for topic, queues in topics.items():
                yield group, topic, queues

    def find(self, group: str, topic: str, queue_id: int) -> int | None:
        """The offset of the next message the group wants; None when it never said."""
        return self.queues(group, topic).get(queue_id)

    def queues(self, group: str, topic: str) -> Mapping[int, int]:
        """The group's offsets in the topic, by queue."""
        return self._groups.get(group, {}).get(topic, {})

    def has_group(self, group: str) -> bool:
        """Whether the group has an offset in any queue."""
        return group in self._groups

    def topics_of(self, group: str) -> list[str]:
        return list(self._groups.get(group, ()))

    def groups_of(self, topic: str) -> list[str]:
        return [
            group
            for group, topics in self._groups.items()
            if topic in topics and SEPARATOR not in group
        ]

    def commit(
        self, group: str, topic: str, queue_id: int, offset: int, due: float = 0.0
    ) -> int | None:
        """What a consumer has come to, on disk by `due`; the offset that was stored before."""
        queues = self._groups.setdefault(group, {}).setdefault(topic, {})
        before = queues.get(queue_id)
        if before == offset:
            return before
        if before is None:
            self._count += 1
        elif offset < before:
            self.backward_commits += 1
        queues[queue_id] = offset
        self._commits += 1
        if self._commits % COMMITS_A_VERSION == 0:
            self.data_version = self.data_version.next(self.data_version.timestamp_ms)
        self._texts.changed((topic, group))
        self._files.touch(File.OFFSETS, due)
        return before

    def note_pull(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Where the group's next pull of the queue begins: what lies before is in its hands."""
        if topic in self._groups.get(group, ()):
            self._pulled.setdefault((topic, group), {})[queue_id] = offset

    def pulled(self, group: str, topic: str, queue_id: int) -> int | None:
        """What was noted last."""
        return self._pulled.get((topic, group), {}).get(queue_id)

    def remove(self, group: str | None = None, topic: str | None = None) -> None:
        """All of a group, of a topic, or of a group in a topic."""
        for owner in list(self._groups) if group is None else [group]:
            topics = self._groups.get(owner, {})
            for each in list(topics) if topic is None else [topic]:
                self._remove(owner, each)

    def _remove(self, group: str, topic: str) -> None:
        topics = self._groups.get(group)
        if topics is None or topic not in topics:
            return
        self._count -= len(topics.pop(topic))
        if not topics:
            del self._groups[group]
        self._texts.removed((topic, group))
        self._pulled.pop((topic, group), None)
        self._files.touch(File.OFFSETS)

    # ------------------------------------------------------------------ the file

    def content(self) -> bytes:
        """The file."""
        return self._content(self._texts.text())

    def content_up_to(self, bounds: Iterable[tuple[tuple[str, str, int], int]]) -> bytes:
        """The same, but in these queues of groups they are no further than that."""
        lower: dict[Place, dict[int, int]] = {}
        for (group, topic, queue_id), bound in bounds:
            queues = self.queues(group, topic)
            if queues.get(queue_id, 0) > bound:
                lower.setdefault((topic, group), dict(queues))[queue_id] = bound
        return self._content(
            self._texts.text({place: _member(place, queues) for place, queues in lower.items()})
        )

    def _content(self, table: bytes) -> bytes:
        version = javajson.dumps_fastjson(self.data_version.to_json())
        return b'{\n\t"dataVersion":%b,\n\t"offsetTable":%b\n}' % (version, table)

    def load(self, content: bytes) -> None:
        """What a start finds. RemoteError where it is no such file."""
        self.data_version, table = offset_table_of(content)
        for place, offsets in table.items():
            self._replace(place, offsets)

    def replace(self, content: bytes) -> None:
        """They are these and no others. RemoteError where it is no such table."""
        version, table = offset_table_of(content)
        gone = [(group, topic) for group, topic, _ in self.places() if (topic, group) not in table]
        for group, topic in gone:
            self._remove(group, topic)
        for place, offsets in table.items():
            if self.queues(*reversed(place)) != offsets:
                self._replace(place, offsets)
        self.data_version = version
        self._files.touch(File.OFFSETS)

    def fill(self, table: OffsetTable, due: float, but: str) -> None:
        """Where a group has no offset in a queue it is the table's; the group `but` is left out."""
        lacking = self._lacking(table, but)
        self._put({at: {**table.offsets[at], **self.queues(*reversed(at))} for at in lacking}, due)

    def lacks(self, table: OffsetTable, but: str) -> bool:
        """Whether `fill` would add any."""
        return any(True for _ in self._lacking(table, but))

    def _lacking(self, table: OffsetTable, but: str) -> Iterator[Place]:
        for (topic, group), queues in table.offsets.items():
            if group != but and queues.keys() - self.queues(group, topic).keys():
                yield topic, group

    def copy(self, table: OffsetTable, due: float) -> None:
        """Where the table has a group's offset in a queue, it is this one; on disk by `due`."""
        new: dict[Place, dict[int, int]] = {}
        for place, queues in table.offsets.items():
            topic, group = place
            known = self.queues(group, topic)
            after = {**known, **queues}
            if after != known:
                new[place] = after
        self._put(new, due)
        if table.version != self.data_version:
            self.data_version = table.version
            self._files.touch(File.OFFSETS, due)

    def _put(self, table: Mapping[Place, dict[int, int]], due: float) -> None:
        """RemoteError where these would be too many."""
        more = sum(len(queues) - len(self.queues(*reversed(at))) for at, queues in table.items())
        if self._count + more > self.limit:
            raise RemoteError(f"{self._count + more} offsets, and {self.limit} are kept at most")
        for place, queues in table.items():
            self._replace(place, queues)
        if table:
            self._files.touch(File.OFFSETS, due)

    def _replace(self, place: Place, offsets: dict[int, int]) -> None:
        topic, group = place
        self._count += len(offsets) - len(self.queues(group, topic))
        self._groups.setdefault(group, {})[topic] = offsets
        self._texts.changed(place)

    def _member(self, place: Place) -> bytes:
        topic, group = place
        return _member(place, self._groups[group][topic])


def _member(place: Place, queues: Mapping[int, int]) -> bytes:
    topic, group = place
    name = javajson.dumps_fastjson(f"{topic}{SEPARATOR}{group}")
    offsets = ",".join([f"{queue_id}:{offset}" for queue_id, offset in queues.items()])
    return b"\n\t\t%b:{%b\n\t\t}" % (name, offsets.encode())


def offset_table_of(content: bytes) -> OffsetTable:
    """What the file, or a master's answer, says. RemoteError where it is no such table."""
    size = len(content)
    value = javajson.loads(content, size, values_max=size, dialect_values_max=size)
    bean = object_of(value, "consumerOffset.json")
    table = object_of(bean.get("offsetTable") or {}, "offsetTable")
    offsets: dict[Place, dict[int, int]] = {}
    for key, queues in table.items():
        topic, separator, group = text_key(key, "offsetTable").partition(SEPARATOR)
        if separator:
            offsets[topic, group] = {
                int_key(queue_id, "offsetTable"): long_of(offset, "offsetTable")
                for queue_id, offset in object_of(queues, "offsetTable").items()
            }
    return OffsetTable(DataVersion.from_json(bean.get("dataVersion") or {}), offsets)
