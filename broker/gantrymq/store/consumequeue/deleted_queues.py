"""Removes the folders of deleted consume queues, a few in each turn.

A deleted queue that is created again gets a new folder: its old one is removed first. A crash may
leave folders of deleted queues behind; the next start finds them as queues again.
"""

from __future__ import annotations

from itertools import islice
from typing import final

from gantrymq.base.disk import DiskError, DiskFailure
from gantrymq.store.consumequeue.queue_folder import QueueFolders


@final
class DeletedQueues:
    """The deleted queues whose folders are still on disk. `Queues` owns it and adds to it; the
    flush of the queues removes most of the folders."""

    __slots__ = ("_folders", "_waiting", "removing")

    def __init__(self, folders: QueueFolders) -> None:
        self._folders: QueueFolders = folders
        self._waiting: dict[tuple[str, int], None] = {}
        self.removing: str = ""
        """The path of a file that is being removed in the background, or "". It is unknown
        whether the file still exists, so no new one may get this name before the removal has
        ended."""

    @property
    def count(self) -> int:
        return len(self._waiting)

    def add(self, topic: str, queue_id: int) -> None:
        self._waiting[topic, queue_id] = None

    def topics(self) -> set[str]:
        """The topics that have folders to remove."""
        return {topic for topic, _ in self._waiting}

    def remove_some(self, count: int) -> int:
        """Remove the folders of up to `count` deleted queues; return how many are left."""
        for topic, queue_id in list(islice(self._waiting, count)):
            self.remove(topic, queue_id)
        return len(self._waiting)

    def remove(self, topic: str, queue_id: int) -> None:
        """Remove the queue's folder, and its topic's if it was the last, and sync that. Do nothing
        if the queue is not a deleted one."""
        if (topic, queue_id) not in self._waiting:
            return
        files, root = self._folders.files, self._folders.root
        if self.is_removing_from(topic, queue_id):
            text = "the file is being removed already"
            raise DiskError(DiskFailure.EXISTS, "remove", self.removing, text)
        folder = self._folders.folder(topic, queue_id)
        for entry in reversed(files.disk.list(folder)):
            files.remove(f"{folder}/{entry.name}")
        files.remove(folder)
        if files.disk.list(f"{root}/{topic}"):
            files.disk.sync_folder(f"{root}/{topic}")
        else:
            files.remove(f"{root}/{topic}")
            files.disk.sync_folder(root)
        del self._waiting[topic, queue_id]

    def is_removing_from(self, topic: str, queue_id: int) -> bool:
        """Whether a file of this queue is being removed in the background."""
        if not self.removing:
            return False
        return self.removing.startswith(f"{self._folders.folder(topic, queue_id)}/")
