"""Manages all consume queues: finds them by topic and queue id, opens and writes them.

Invariants: a queue with unsynced units is in `unsynced`, oldest first. A queue in the table has a
folder on disk, or units in memory. Decisions about all queues, such as where the log begins, where
it was cut, and what to trust after a crash, also hold for queues that are opened later. So a start
with 100 000 queues lists folders and reads no file (queue_discovery.py).

Opening a queue lists its folder and reads a page, which may wait for the disk. `open_some` opens a
number of queues in each turn ahead of their first use. The folders of deleted queues are removed
later (deleted_queues.py).

False units. As long as only our own stores write, and the log is never cut below what was synced,
the files have no false units (consumequeue.py), and nothing is wiped after a crash. Otherwise a
note exists (dirty_queues.py) until every queue was opened, wiped if necessary, and synced. After a
crash in between the next start wipes them all again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import final

from mypy_extensions import i64

from gantrymq.base.disk import Disk, File
from gantrymq.base.errors import LocalError
from gantrymq.store.consumequeue.consumequeue import ADDED, Appended, ConsumeQueue
from gantrymq.store.consumequeue.deleted_queues import DeletedQueues
from gantrymq.store.consumequeue.queue_discovery import QueueDiscovery
from gantrymq.store.consumequeue.queue_folder import AfterCrash, QueueFolders, folder_fault
from gantrymq.store.consumequeue.queue_snapshot import UNKNOWN_MS, TopicState, discard
from gantrymq.store.consumequeue.queue_unit import UNIT_BYTES
from gantrymq.store.files.dirty_queues import DirtyQueues
from gantrymq.store.files.open_files import OPEN_FILES_MAX, OpenFiles
from gantrymq.store.layout import CONSUME_QUEUE, POSITION_MAX


@final
class Queues:
    """All consume queues of one store. Created empty; `load` fills it from the disk."""

    __slots__ = (
        "_crash",
        "_cut_to",
        "_folders",
        "_note",
        "_table",
        "_unopened",
        "deleted",
        "faults",
        "unsynced",
        "unwritten_bytes",
        "wipes",
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
        self._cut_to: int = -1
        self._note: DirtyQueues = DirtyQueues(disk)
        self.deleted: DeletedQueues = DeletedQueues(self._folders)
        self.unsynced: dict[ConsumeQueue, None] = {}
        self.unwritten_bytes: int = 0
        self.wipes: int = 0
        """Increases with everything that may have been wiped, and needs a sync from then on."""
        self.faults: dict[ConsumeQueue, str] = {}
        """What was wrong with queues when they were opened. Each of them must be rebuilt."""

    def load(
        self,
        log_minimum: int,
        crash: AfterCrash | None = None,
        snapshot: Sequence[TopicState] | None = None,
    ) -> list[tuple[str, int]]:
        """Find the queues on disk, after a clean stop or after a crash.

        After a crash the log must be dispatched again from `crash.synced_offset` on, and there is
        no snapshot. A snapshot that was not taken is discarded. Return topic and id of the
        snapshot's queues whose folders were removed: they must be rebuilt.
        """
        assert crash is None or snapshot is None
        disk = self._folders.files.disk
        discard(disk)
        self._folders.log_minimum = log_minimum
        disk.make_folder(self._folders.root)
        disk.sync_folder(self._folders.root.rpartition("/")[0])
        found = QueueDiscovery(self._folders)
        found.run(snapshot or ())
        self._table, self._unopened = found.table, found.unopened
        if crash is not None:
            self.distrust(crash)
        else:
            self._note.remove()
        return found.missing

    @property
    def file_bytes(self) -> int:
        return self._folders.file_bytes

    @property
    def count(self) -> int:
        return sum(map(len, self._table.values()))

    def distrust(self, crash: AfterCrash) -> None:
        """Trust only what `crash` says. No queue may be open yet."""
        self._note.look()
        self._crash = replace(crash, is_ours=crash.is_ours and not self._note.stands)
        if not self._crash.is_ours:
            self._unsettle()

    def open_some(self, count: int, on_fault: Callable[[], None] | None = None) -> int:
        """Open up to `count` queues that were not used yet; return how many are left.

        When `on_fault` is called, the queue's files still show that it must be rebuilt; afterwards
        they do not.
        """
        for queue in list(islice(self._unopened, count)):
            self._open(queue, on_fault)
        return len(self._unopened)

    @property
    def log_flushed(self) -> int:
        """The log's flush position: units of records behind it are not written yet."""
        return self._folders.log_flushed

    @log_flushed.setter
    def log_flushed(self, position: int) -> None:
        self._folders.log_flushed = position

    @property
    def is_settled(self) -> bool:
        """Whether no unopened queue may have false units."""
        return not self._note.stands or not self._unopened

    def settle(self) -> None:
        """Remove the note, if every queue was opened. Everything wiped must be synced."""
        if self._note.stands and self.is_settled:
            self._note.remove()

    def find(self, topic: str, queue_id: int) -> ConsumeQueue | None:
        queues = self._table.get(topic)
        queue = None if queues is None else queues.get(queue_id)
        if queue is not None and not queue.is_open:
            self._open(queue)
        return queue

    def find_or_make(self, topic: str, queue_id: int) -> ConsumeQueue:
        """The queue, opened. A new queue has no file until it has units."""
        queue = self.find(topic, queue_id)
        return self._make(topic, queue_id) if queue is None else queue

    def append(
        self,
        topic: str,
        queue_id: int,
        offset: int,
        physical_offset: int,
        size: int,
        tags_code: int,
    ) -> Appended:
        """Add a unit to a queue, and create the queue if it is new."""
        return self.append_to(
            self.find_or_make(topic, queue_id), offset, physical_offset, size, tags_code
        )

    def append_to(
        self, queue: ConsumeQueue, offset: i64, physical_offset: i64, size: i64, tags_code: i64
    ) -> Appended:
        """The same for a caller that has the queue. The queue must be open."""
        was_synced = queue.synced >= queue.end
        appended = queue.append(offset, physical_offset, size, tags_code)
        if appended is ADDED:
            self.unwritten_bytes += UNIT_BYTES
            if was_synced:
                self.unsynced[queue] = None
        return appended

    def write(self, queue: ConsumeQueue) -> None:
        """Move the units of synced records from the queue's tail into its files."""
        size = queue.unwritten_bytes
        queue.write()
        self.unwritten_bytes -= size - queue.unwritten_bytes

    def write_down_to(self, unwritten_bytes: int) -> None:
        """Write the tails of the queues that have waited longest, until at most this much is
        unwritten."""
        for queue in self.unsynced:
            if self.unwritten_bytes <= unwritten_bytes:
                return
            self.write(queue)

    def sync_all(self) -> None:
        """Write and sync everything, waiting for the disk. For a stop, when the log is synced."""
        self.log_flushed = POSITION_MAX
        if not self.is_settled:
            self.open_some(len(self._unopened))
        for queue in list(self.unsynced):
            self.write(queue)
            for path in queue.unsynced_files():
                self._folders.files.get(path).sync()
            queue.sync_names()
            self.synced(queue, queue.end)
        self.settle()

    def synced(self, queue: ConsumeQueue, end: int) -> None:
        """Note that the queue's files were synced when they had its units up to `end`."""
        if self._table.get(queue.topic, {}).get(queue.queue_id) is queue:  # not deleted since
            queue.synced = max(queue.synced, min(end, queue.written))
            self._keep_unsynced(queue)

    def cut_to_log(self, physical_offset: int) -> None:
        """Remove the units of records behind this position, where the log is about to end.

        Call it after the flush positions are lowered, and before the log is cut. It also holds for
        queues that are opened later, so everything that is appended must be dispatched before.
        """
        if self._cut_to < 0 or physical_offset < self._cut_to:
            self._cut_to = physical_offset
        is_believed = self._crash is not None and self._crash.synced_offset <= physical_offset
        if self._unopened and not is_believed:
            self._unsettle()
        for queue in self.opened():
            if queue.physical_end > physical_offset:
                self._cut(queue, physical_offset)

    def begin_at(self, position: int) -> None:
        """Continue at `position`, where a log without records begins now."""
        self._folders.log_minimum = self._folders.log_flushed = position

    def raise_minimum(self, log_minimum: int) -> None:
        """Set the start of the log. Each queue looks for its minimum when it is used next."""
        self._folders.log_minimum = log_minimum

    def expired_file(self, queue: ConsumeQueue) -> str:
        """The next file of this queue to remove, see `ConsumeQueue.expired_file`."""
        return queue.expired_file(self._folders.log_minimum)

    def clear(self, queue: ConsumeQueue) -> None:
        """Empty the queue, to be rebuilt from the log."""
        self.unwritten_bytes -= queue.unwritten_bytes
        self.unsynced.pop(queue, None)
        self.faults.pop(queue, None)
        queue.clear()

    def delete_topic(self, topic: str) -> None:
        """Forget the topic's queues; `deleted` removes their folders later."""
        for queue in list(self._table.get(topic, {}).values()):
            self.delete(queue)

    def delete(self, queue: ConsumeQueue) -> None:
        """Forget this queue; `deleted` removes its folder later."""
        assert not queue.taken, "units of the current group are pending: call Store.delete_topic"
        queues = self._table[queue.topic]
        del queues[queue.queue_id]
        if not queues:
            del self._table[queue.topic]
        self._unopened.pop(queue, None)
        self.faults.pop(queue, None)
        self.unsynced.pop(queue, None)
        self.unwritten_bytes -= queue.unwritten_bytes
        queue.is_open = False
        self.deleted.add(queue.topic, queue.queue_id)

    def clear_all(self) -> None:
        """Remove all queues and their folders, and sync that; blocks."""
        for topic in self.topics():
            self.delete_topic(topic)
        self.deleted.remove_some(self.deleted.count)

    def queues(self) -> Iterator[ConsumeQueue]:
        """Every queue, opened."""
        for topic in self.topics():
            for queue_id in self.queue_ids(topic):
                queue = self.find(topic, queue_id)
                if queue is not None:
                    yield queue

    def opened(self) -> Iterator[ConsumeQueue]:
        """The queues that are open."""
        for queues in self._table.values():
            for queue in queues.values():
                if queue.is_open:
                    yield queue

    def topics(self) -> list[str]:
        return list(self._table)

    def queue_ids(self, topic: str) -> list[int]:
        return sorted(self._table.get(topic, ()))

    def states(self) -> Iterator[TopicState]:
        """The states for the snapshot, without opening more queues. Everything must be synced."""
        folders = self._folders.files.disk.list(self._folders.root)
        times = {folder.name: folder.modified_ms for folder in folders}
        # The next start must see folders that could not be removed yet.
        listed = self.deleted.topics()
        for topic, queues in self._table.items():
            states = [queue.state() for queue in queues.values() if self._has_state(queue)]
            is_whole = len(states) == len(queues) and topic not in listed
            yield TopicState(
                topic, times.get(topic, UNKNOWN_MS) if is_whole else UNKNOWN_MS, states
            )

    def close(self) -> None:
        """Close the files; nothing is written."""
        self._folders.files.close()

    def file(self, path: str) -> File:
        """The queue file at this path, to be synced."""
        return self._folders.files.get(path)

    def _make(self, topic: str, queue_id: int) -> ConsumeQueue:
        fault = folder_fault(topic, queue_id)
        if fault is not None:
            raise LocalError(fault)
        # The new queue must not take over files of a deleted one.
        self.deleted.remove(topic, queue_id)
        queue = ConsumeQueue(self._folders, topic, queue_id)
        queue.is_open = True
        self._table.setdefault(topic, {})[queue_id] = queue
        return queue

    def _has_state(self, queue: ConsumeQueue) -> bool:
        """Whether it is known which files the queue has."""
        return queue.is_open and not self.deleted.is_removing_from(queue.topic, queue.queue_id)

    def _open(self, queue: ConsumeQueue, on_fault: Callable[[], None] | None = None) -> None:
        fault = queue.open(self._crash)
        self.wipes += self._note.stands
        self._unopened.pop(queue, None)
        if fault:
            if on_fault is not None:
                on_fault()
            queue.mend()
            self.faults[queue] = fault
        self._keep_unsynced(queue)
        if self._cut_to >= 0:
            self._cut(queue, self._cut_to)

    def _unsettle(self) -> None:
        """Save the note that queues may have false units, before anything else happens."""
        self.wipes += 1
        if not self._note.stands:
            self._note.write()

    def _cut(self, queue: ConsumeQueue, physical_offset: int) -> None:
        end = queue.end_in_log(physical_offset)
        if end == queue.end:
            return
        if end < queue.files_end:
            self._unsettle()
        size = queue.unwritten_bytes
        queue.cut(end)
        self.unwritten_bytes -= size - queue.unwritten_bytes
        self._keep_unsynced(queue)

    def _keep_unsynced(self, queue: ConsumeQueue) -> None:
        """Update `unsynced` after a sync or a cut."""
        if queue.synced < queue.end:
            self.unsynced.setdefault(queue)
        else:
            self.unsynced.pop(queue, None)
