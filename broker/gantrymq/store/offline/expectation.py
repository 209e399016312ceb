"""What queues and index must have of a record, for tools that compare them with the log.

A queue may have begun anew, as its topic was deleted and made again, without a note of that: in a
copy, or where Java did it. Then it has nothing of records before the one that it begins with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from gantrymq.base.disk import Disk
from gantrymq.store.deleted_topics import read
from gantrymq.store.entry import Entry
from gantrymq.store.index import Index
from gantrymq.store.index_file import IndexSizes
from gantrymq.store.queue_folder import folder_fault
from gantrymq.wire import java_string
from gantrymq.wire.message.sys_flag import INNER_BATCH

NO_NAME: Final = ""


@final
class Expectation:
    """The rules of one store, some of whose queues begin with the record at a position."""

    __slots__ = ("_begun_anew", "_deleted", "_hasher")

    def __init__(
        self, disk: Disk, sizes: IndexSizes, begun_anew: Mapping[tuple[str, int], int]
    ) -> None:
        self._begun_anew = begun_anew
        self._deleted = read(disk)
        self._hasher = Index(disk, sizes, lambda: NO_NAME)  # never loaded: it hashes only

    def queue(self, entry: Entry) -> tuple[str, int] | None:
        """Topic and queue id; None when no queue shows this record."""
        if not entry.has_unit or entry.sys_flag & INNER_BATCH:
            return None
        topic = java_string.utf8_text(entry.topic)
        queue_id = int(entry.queue_id)
        if self._is_deleted(entry, topic):
            return None
        if entry.physical_offset < self._begun_anew.get((topic, queue_id), 0):
            return None
        return None if folder_fault(topic, queue_id) else (topic, queue_id)

    def deleted_queue(self, entry: Entry) -> tuple[str, int] | None:
        """Topic and id of the queue that showed this record until its topic was deleted."""
        topic = java_string.utf8_text(entry.topic)
        return (topic, int(entry.queue_id)) if self._is_deleted(entry, topic) else None

    def _is_deleted(self, entry: Entry, topic: str) -> bool:
        deleted = self._deleted.get(topic)
        place = int(entry.physical_offset), int(entry.store_timestamp_ms)
        return deleted is not None and deleted.covers(*place)

    def hashes(self, entry: Entry) -> list[int]:
        """Of its keys, as the index knows them."""
        if not entry.has_keys:
            return []
        return [self._hasher.key_hash(entry.topic, key) for key in keys_of(entry)]


def keys_of(entry: Entry) -> list[bytes]:
    """The unique key and each of the user's keys."""
    keys = [key for key in entry.keys.split(b" ") if key]
    return [entry.unique_key, *keys] if entry.unique_key else keys
