"""Stores the committed offset of each consumer group and queue in config/consumerOffset.json.

    {"dataVersion":DV,"offsetTable":{"topic@group":{queueId:offset}}}

Java 5.x also writes `groupTopicMap`, which repeats the same facts; it is not written here. Java
stores the offsets of broadcasting clients under "topic@group@broadcast"; those entries are kept
unchanged.

Invariants. The table holds at most `limit` offsets of queues. A commit below the stored offset is
carried out, as in Java, because clients go back on purpose; `commit` returns the offset it
replaced, so that the caller can log it. The offset of each queue's next pull is in memory only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple, final

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.engine.files import Files
from gantrymq.broker.core.engine.table_texts import EntryTexts
from gantrymq.broker.core.messages import File
from gantrymq.wire import javajson
from gantrymq.wire.bodies.shared import DataVersion
from gantrymq.wire.jsonvalue import int_key, long_of, object_of, text_key

SEPARATOR: Final = "@"

# The most offsets of queues, over all groups: 100 MB of memory and a file of 25 MB where a group
# consumes many queues of a topic. A larger table means a hostile client, or groups that are never
# deleted. Where each group consumes one queue, maxPeerMemory is reached earlier (table_memory.py).
OFFSETS_MAX: Final = 1_000_000

# Java's figure. A new version for each commit would make slaves fetch the table all the time.
COMMITS_A_VERSION: Final = 500

Place = tuple[str, str]
"""A topic and a group."""


class OffsetTable(NamedTuple):
    """A decoded offset table, from the file or from another broker."""

    version: DataVersion
    offsets: dict[Place, dict[int, int]]


@final
class Offsets:
    """The broker's offset table: offsets by group and topic, then by queue id."""

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
        """Commits since the start that were below the stored offset."""
        self.data_version = DataVersion()
        files.keep(File.OFFSETS, self.content)

    def __len__(self) -> int:
        """The number of stored offsets, one for each queue of a group."""
        return self._count

    @property
    def place_count(self) -> int:
        """The number of pairs of topic and group that have an offset."""
        return len(self._texts)

    @property
    def is_full(self) -> bool:
        """Whether the table accepts no offset for a further queue of any group."""
        return self._count >= self.limit

    def places(self) -> Iterator[tuple[str, str, Mapping[int, int]]]:
        """Yield group, topic and offsets by queue, including those of broadcasting clients."""
        for group, topics in self._groups.items():
            for topic, queues in topics.items():
                yield group, topic, queues

    def find(self, group: str, topic: str, queue_id: int) -> int | None:
        """The offset of the next message the group consumes; None when it never committed one."""
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
        """Store a group's offset, to be on disk by `due`; return the offset it replaces."""
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
        """Record where the group's next pull begins; messages between the two offsets are in
        flight."""
        if topic in self._groups.get(group, ()):
            self._pulled.setdefault((topic, group), {})[queue_id] = offset

    def pulled(self, group: str, topic: str, queue_id: int) -> int | None:
        """The offset that `note_pull` recorded last."""
        return self._pulled.get((topic, group), {}).get(queue_id)

    def remove(self, group: str | None = None, topic: str | None = None) -> None:
        """Remove the offsets of a group, of a topic, or of a group in a topic."""
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
        """The content of the file."""
        return self._content(self._texts.text())

    def content_up_to(self, bounds: Iterable[tuple[tuple[str, str, int], int]]) -> bytes:
        """The content of the file, with the offsets in `bounds` as upper limits."""
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
        """Load the file at startup. Raises RemoteError for malformed content."""
        self.data_version, table = offset_table_of(content)
        for place, offsets in table.items():
            self._replace(place, offsets)

    def replace(self, content: bytes) -> None:
        """Replace the whole table. Raises RemoteError for malformed content."""
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
        """Add the table's offsets where a group has none in a queue; skip the group `but`."""
        lacking = self._lacking(table, but)
        self._put({at: {**table.offsets[at], **self.queues(*reversed(at))} for at in lacking}, due)

    def lacks(self, table: OffsetTable, but: str) -> bool:
        """Whether `fill` would add an offset."""
        return any(True for _ in self._lacking(table, but))

    def _lacking(self, table: OffsetTable, but: str) -> Iterator[Place]:
        for (topic, group), queues in table.offsets.items():
            if group != but and queues.keys() - self.queues(group, topic).keys():
                yield topic, group

    def copy(self, table: OffsetTable, due: float) -> None:
        """Overwrite offsets with those of the table, to be on disk by `due`; keep all that it
        lacks."""
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
        """Store these offsets. Raises RemoteError when the limit would be exceeded."""
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
    """Decode a file or a master's answer. Raises RemoteError for malformed content."""
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
