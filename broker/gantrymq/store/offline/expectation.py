"""Derives what queues and index must have of a record, for tools that compare them with the log.

A queue may have begun anew, because its topic was deleted and created again, without a note of
that: in a copy, or if Java did it. Then it has no units of records before the one with which it
begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from gantrymq.base.disk import Disk
from gantrymq.store.consumequeue.queue_folder import folder_fault
from gantrymq.store.dispatch.deleted_topics import read
from gantrymq.store.index.index import Index
from gantrymq.store.index.index_file import IndexSizes
from gantrymq.store.record.dispatch_entry import DispatchEntry
from gantrymq.wire import java_string
from gantrymq.wire.message.sys_flag import INNER_BATCH

NO_NAME: Final = ""


@final
class Expectation:
    """The rules of one store. `begun_anew` has the positions of the first records of some
    queues."""

    __slots__ = ("_begun_anew", "_deleted", "_hasher")

    def __init__(
        self, disk: Disk, sizes: IndexSizes, begun_anew: Mapping[tuple[str, int], int]
    ) -> None:
        self._begun_anew = begun_anew
        self._deleted = read(disk)
        self._hasher = Index(disk, sizes, lambda: NO_NAME)  # never loaded: it only hashes

    def queue(self, entry: DispatchEntry) -> tuple[str, int] | None:
        """Topic and queue id; None if no queue has this record."""
        if not entry.has_unit or entry.sys_flag & INNER_BATCH:
            return None
        topic = java_string.utf8_text(entry.topic)
        queue_id = int(entry.queue_id)
        if self._is_deleted(entry, topic):
            return None
        if entry.physical_offset < self._begun_anew.get((topic, queue_id), 0):
            return None
        return None if folder_fault(topic, queue_id) else (topic, queue_id)

    def deleted_queue(self, entry: DispatchEntry) -> tuple[str, int] | None:
        """Topic and id of the queue that had this record until its topic was deleted, or None."""
        topic = java_string.utf8_text(entry.topic)
        return (topic, int(entry.queue_id)) if self._is_deleted(entry, topic) else None

    def _is_deleted(self, entry: DispatchEntry, topic: str) -> bool:
        deleted = self._deleted.get(topic)
        place = int(entry.physical_offset), int(entry.store_timestamp_ms)
        return deleted is not None and deleted.covers(*place)

    def hashes(self, entry: DispatchEntry) -> list[int]:
        """The hashes of the record's keys, as the index has them."""
        if not entry.has_keys:
            return []
        return [self._hasher.key_hash(entry.topic, key) for key in keys_of(entry)]


def keys_of(entry: DispatchEntry) -> list[bytes]:
    """The unique key and each of the user's keys."""
    keys = [key for key in entry.keys.split(b" ") if key]
    return [entry.unique_key, *keys] if entry.unique_key else keys
