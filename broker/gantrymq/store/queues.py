"""All consume queues: found by topic and queue id, opened when first used, written in batches.

Invariants: a queue whose units are not all synced is in `unsynced`, oldest first. A queue in the
table has a folder on disk, or units in memory. What was decided about all queues - where the log
begins, where it was cut, what a crash left to believe - holds for those too that are opened later:
a start with 100 000 queues lists folders and reads no file.

Opening a queue lists its folder and reads a few units, which may wait for the disk: `open_some`
does it ahead of the first use, so many a turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import final

from gantrymq.base.disk import Disk, File
from gantrymq.base.errors import CorruptionError, LocalError
from gantrymq.store.consumequeue import ADDED, Appended, ConsumeQueue
from gantrymq.store.layout import CONSUME_QUEUE
from gantrymq.store.open_files import OPEN_FILES_MAX, OpenFiles
from gantrymq.store.queue_folder import QUEUE_ID_MAX, AfterCrash, QueueFolders, folder_fault
from gantrymq.store.queue_unit import UNIT_BYTES


@final
class Queues:
    """The table. Made empty; `load` fills it from the disk."""

    __slots__ = (
        "_crash",
        "_cut_to",
        "_folders",
        "_log_minimum",
        "_table",
        "_unopened",
        "faults",
        "unsynced",
        "unwritten_bytes",
    )

    def __init__(
        self,
        disk: Disk,
        file_bytes: int,
        *,
        root: str = CONSUME_QUEUE,
        open_files: int = OPEN_FILES_MAX,
    ) -> None:
        self._folders: QueueFolders = QueueFolders(OpenFiles(disk, open_files), root, file_bytes)
        self._table: dict[str, dict[int, ConsumeQueue]] = {}
        self._unopened: dict[ConsumeQueue, None] = {}
        self._crash: AfterCrash | None = None
        self._log_minimum: int = 0
        self._cut_to: int = -1
        self.unsynced: dict[ConsumeQueue, None] = {}
        self.unwritten_bytes: int = 0
        self.faults: dict[ConsumeQueue, str] = {}
        """What was wrong with queues when they were opened; each has to be rebuilt."""

    def load(self, log_minimum: int, crash: AfterCrash | None = None) -> None:
        """Find the queues on disk, after a clean stop or after a crash.

        After a crash the log has to be dispatched again from `crash.synced_offset` on.
        """
        disk = self._folders.files.disk
        self._crash = crash
        self._log_minimum = log_minimum
        disk.make_folder(self._folders.root)
        disk.sync_folder(self._folders.root.rpartition("/")[0])
        for topic in disk.list(self._folders.root):
            for entry in disk.list(f"{self._folders.root}/{topic.name}") if topic.is_folder else ():
                queue_id = _queue_id(entry.name)
                if queue_id is None or not entry.is_folder:
                    place = f"{self._folders.root}/{topic.name}/{entry.name}"
                    raise CorruptionError(f"{place}: only folders of queues belong here; move it")
                queue = ConsumeQueue(self._folders, topic.name, queue_id)
                self._table.setdefault(topic.name, {})[queue_id] = queue
                self._unopened[queue] = None

    def open_some(self, count: int) -> int:
        """Open up to so many queues that nobody asked for yet; how many are left."""
        for queue in list(islice(self._unopened, count)):
            self._open(queue)
        return len(self._unopened)

    @property
    def is_settled(self) -> bool:
        """Whether no queue is left that a crash may have damaged and nobody opened yet."""
        return self._crash is None or not self._unopened

    def find(self, topic: str, queue_id: int) -> ConsumeQueue | None:
        queues = self._table.get(topic)
        queue = None if queues is None else queues.get(queue_id)
        if queue is not None and not queue.is_open:
            self._open(queue)
        return queue

    def append(
        self,
        topic: str,
        queue_id: int,
        offset: int,
        physical_offset: int,
        size: int,
        tags_code: int,
    ) -> Appended:
        """Add a unit to a queue, which is made when it is new."""
        queue = self.find(topic, queue_id)
        if queue is None:
            queue = self._make(topic, queue_id)
        appended = queue.append(offset, physical_offset, size, tags_code)
        if appended is ADDED:
            self.unwritten_bytes += UNIT_BYTES
            self.unsynced[queue] = None
        return appended

    def write(self, queue: ConsumeQueue) -> None:
        """Move its tail into its files."""
        size = queue.unwritten_bytes
        queue.write()
        self.unwritten_bytes -= size

    def write_down_to(self, unwritten_bytes: int) -> None:
        """Write the tails of the queues that have waited longest until no more is unwritten."""
        for queue in self.unsynced:
            if self.unwritten_bytes <= unwritten_bytes:
                return
            self.write(queue)

    def sync_all(self) -> None:
        """Write and sync everything, waiting for the disk: for a stop."""
        if not self.is_settled:
            self.open_some(len(self._unopened))
        for queue in list(self.unsynced):
            self.write(queue)
            for path in queue.unsynced_files():
                self._folders.files.get(path).sync()
            queue.sync_names()
            self.synced(queue, queue.end)

    def synced(self, queue: ConsumeQueue, end: int) -> None:
        """The queue's files were synced when they had its units up to `end`."""
        queue.synced = max(queue.synced, min(end, queue.written))
        self._note(queue)

    def cut_to_log(self, physical_offset: int) -> None:
        """The log ends here now: no queue keeps a unit of what was behind.

        For queues that are not open yet it holds when they are opened, so it must not be called
        before what is appended to a queue is dispatched.
        """
        if self._cut_to < 0 or physical_offset < self._cut_to:
            self._cut_to = physical_offset
        for queue in self.opened():
            self._cut(queue, physical_offset)

    def raise_minimum(self, log_minimum: int) -> None:
        """The log begins later now: files of it were deleted."""
        self._log_minimum = log_minimum
        for queue in self.opened():
            queue.correct_minimum(log_minimum)

    def expired_file(self, queue: ConsumeQueue) -> str:
        """The next file of this queue to remove, see `ConsumeQueue.expired_file`."""
        return queue.expired_file(self._log_minimum)

    def clear(self, queue: ConsumeQueue) -> None:
        """Begin the queue anew, to be rebuilt from the log."""
        self.unwritten_bytes -= queue.unwritten_bytes
        self.unsynced.pop(queue, None)
        self.faults.pop(queue, None)
        queue.clear()

    def delete_topic(self, topic: str) -> None:
        """Forget the topic's queues and remove their folders."""
        disk = self._folders.files.disk
        for queue in self._table.pop(topic, {}).values():
            self._unopened.pop(queue, None)
            self.faults.pop(queue, None)
            self.unsynced.pop(queue, None)
            self.unwritten_bytes -= queue.unwritten_bytes
            folder = self._folders.folder(topic, queue.queue_id)
            for entry in disk.list(folder):
                self._folders.files.remove(f"{folder}/{entry.name}")
            self._folders.files.remove(folder)
        if folder_fault(topic, 0) is None:
            self._folders.files.remove(f"{self._folders.root}/{topic}")
            disk.sync_folder(self._folders.root)

    def queues(self) -> Iterator[ConsumeQueue]:
        """Every queue, opened."""
        for topic in self.topics():
            for queue_id in self.queue_ids(topic):
                queue = self.find(topic, queue_id)
                if queue is not None:
                    yield queue

    def opened(self) -> Iterator[ConsumeQueue]:
        """Those that are open already."""
        for queues in self._table.values():
            for queue in queues.values():
                if queue.is_open:
                    yield queue

    def topics(self) -> list[str]:
        return list(self._table)

    def queue_ids(self, topic: str) -> list[int]:
        return sorted(self._table.get(topic, ()))

    def close(self) -> None:
        """Give the handles back; nothing is written."""
        self._folders.files.close()

    def file(self, path: str) -> File:
        """One of the queues' files, to ask a sync for."""
        return self._folders.files.get(path)

    def _make(self, topic: str, queue_id: int) -> ConsumeQueue:
        fault = folder_fault(topic, queue_id)
        if fault is not None:
            raise LocalError(fault)
        queue = ConsumeQueue(self._folders, topic, queue_id)
        queue.is_open = True
        self._table.setdefault(topic, {})[queue_id] = queue
        return queue

    def _open(self, queue: ConsumeQueue) -> None:
        fault = queue.open(self._crash)
        self._unopened.pop(queue, None)
        if fault:
            self.faults[queue] = fault
        self._note(queue)
        if self._cut_to >= 0:
            self._cut(queue, self._cut_to)
        queue.correct_minimum(self._log_minimum)

    def _cut(self, queue: ConsumeQueue, physical_offset: int) -> None:
        size = queue.unwritten_bytes
        queue.cut_to_log(physical_offset)
        self.unwritten_bytes -= size - queue.unwritten_bytes
        self._note(queue)

    def _note(self, queue: ConsumeQueue) -> None:
        """Keep `unsynced` true after a sync or a cut."""
        if queue.synced < queue.end:
            self.unsynced.setdefault(queue)
        else:
            self.unsynced.pop(queue, None)


def _queue_id(name: str) -> int | None:
    """The queue whose folder has this name."""
    is_number = name.isascii() and name.isdigit() and name == str(int(name))
    return int(name) if is_number and int(name) <= QUEUE_ID_MAX else None
