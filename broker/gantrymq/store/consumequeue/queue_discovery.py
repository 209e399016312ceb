"""Finds the consume queues on disk when the store starts, by their folders or by a snapshot.

A start without a snapshot lists the folder of every topic, and opens no queue. With the snapshot of
a clean stop it lists only the folders of topics that changed since, and the queues of the snapshot
are open from the start.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

from gantrymq.base.disk import Entry
from gantrymq.base.errors import CorruptionError
from gantrymq.store.consumequeue.consumequeue import ConsumeQueue
from gantrymq.store.consumequeue.queue_folder import QueueFolders, queue_id_of
from gantrymq.store.consumequeue.queue_snapshot import TopicState


@final
class QueueDiscovery:
    """One search for queues. `Queues` runs it at the start and takes over what it found."""

    __slots__ = ("_folders", "missing", "table", "unopened")

    def __init__(self, folders: QueueFolders) -> None:
        self._folders: QueueFolders = folders
        self.table: dict[str, dict[int, ConsumeQueue]] = {}
        """The queues found, by topic and queue id."""
        self.unopened: dict[ConsumeQueue, None] = {}
        """Those of them that are not open, because the snapshot does not have them."""
        self.missing: list[tuple[str, int]] = []
        """Topic and queue id of the snapshot's queues whose folders were removed."""

    def run(self, snapshot: Iterable[TopicState]) -> None:
        """List the folders. CorruptionError names what does not belong there."""
        known = {topic.name: topic for topic in snapshot}
        for folder in self._folders.files.disk.list(self._folders.root):
            if folder.is_folder:
                self._find_topic(folder, known.pop(folder.name, None))
        for topic in known.values():
            self._restore(topic, None)

    def _find_topic(self, folder: Entry, known: TopicState | None) -> None:
        """Find the queues of one topic."""
        topic = folder.name
        if known is not None and known.modified_ms == folder.modified_ms:
            self._restore(known, {queue.queue_id for queue in known.queues})
            return
        found = self._queue_ids(topic)
        if known is not None:
            self._restore(known, found)
        queues = self.table.setdefault(topic, {})
        for queue_id in sorted(found.difference(queues)):
            queues[queue_id] = queue = ConsumeQueue(self._folders, topic, queue_id)
            self.unopened[queue] = None
        if not queues:
            del self.table[topic]

    def _queue_ids(self, topic: str) -> set[int]:
        """The ids of the topic's queues that have a folder."""
        place = f"{self._folders.root}/{topic}"
        found: set[int] = set()
        for entry in self._folders.files.disk.list(place):
            queue_id = queue_id_of(entry.name)
            if queue_id is None or not entry.is_folder:
                raise CorruptionError(
                    f"{place}/{entry.name}: only folders of queues belong in this folder;"
                    " move it away"
                )
            found.add(queue_id)
        return found

    def _restore(self, known: TopicState, found: set[int] | None) -> None:
        """Take the queues of the snapshot whose folders exist, or that have no files."""
        queues: dict[int, ConsumeQueue] = {}
        for state in known.queues:
            has_files = state.files_end > state.start
            if has_files and (found is None or state.queue_id not in found):
                self.missing.append((known.name, state.queue_id))
                continue
            queue = ConsumeQueue(self._folders, known.name, state.queue_id)
            queue.restore(state)
            queues[state.queue_id] = queue
        if queues:
            self.table[known.name] = queues
