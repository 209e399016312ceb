"""Reads bytes of the log and the queues for read tasks, from memory or with a `Wanted`.

Consumers see only what lies below `readable`: with SYNC_FLUSH no message is visible before it is on
disk. Units at or above it are treated as if they did not exist yet.
"""

from __future__ import annotations

from functools import partial
from typing import Final, Protocol

from gantrymq.base.bounds import FRAME_BYTES_MAX
from gantrymq.base.disk import DiskError, DiskFailure, File
from gantrymq.store.commitlog.commitlog import CommitLog
from gantrymq.store.consumequeue.consumequeue import ConsumeQueue
from gantrymq.store.consumequeue.queue_unit import UNIT, UNIT_BYTES
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.store.index.index import Index
from gantrymq.store.read.async_reader import ReadTask, Wanted, fetch
from gantrymq.store.settings import StoreSettings

# No frame can carry more, so it cannot be a message: a damaged length must not make us read a
# gigabyte.
RECORD_BYTES_MAX: Final = FRAME_BYTES_MAX


class ReadableStore(Protocol):
    """The part of a store that read tasks need; `Store` implements it."""

    @property
    def log(self) -> CommitLog: ...

    @property
    def queues(self) -> Queues: ...

    @property
    def index(self) -> Index: ...

    @property
    def settings(self) -> StoreSettings: ...

    @property
    def readable(self) -> int:
        """The log position below which consumers may see messages."""


def log_bytes_now(log: CommitLog, position: int, size: int) -> bytes | None:
    """At most `size` bytes, up to the end of the file or of the log. Empty if the log does not have
    the position any more. None if not all of them are in memory."""
    if size <= 0 or not log.holds(position):
        return b""
    return log.read(position, size)


def log_bytes(log: CommitLog, position: int, size: int) -> ReadTask[bytes]:
    """The same as a reading, which may wait for the disk."""
    data = log_bytes_now(log, position, size)
    if data is not None:
        return data
    at = position % log.segments.file_bytes
    size = min(size, log.segments.file_bytes - at, log.end - position)
    try:
        return (yield from fetch(Wanted(partial(_log_file, log, position), at, size)))
    except DiskError:
        if log.holds(position):
            raise
        return b""


def queue_units(queue: ConsumeQueue, offset: int, count: int) -> ReadTask[bytes]:
    """Units from `offset` on: at most `count`, and at least one if the queue has one there."""
    data = queue.read(offset, count)
    if data is not None:
        return data
    folders = queue.folders
    at = offset % folders.file_units
    count = min(count, queue.written - offset, folders.file_units - at)
    file = partial(folders.files.get, folders.path(queue.topic, queue.queue_id, offset))
    data = yield from fetch(Wanted(file, at * UNIT_BYTES, count * UNIT_BYTES))
    return data[: len(data) // UNIT_BYTES * UNIT_BYTES]


def unit_position(queue: ConsumeQueue, offset: int) -> ReadTask[int]:
    """The log position of this message of the queue; -1 if the queue has no such unit."""
    data = b""
    if queue.start <= offset < queue.end:
        try:
            data = yield from queue_units(queue, offset, 1)
        except DiskError:
            if offset >= queue.start:
                raise  # otherwise its file was deleted during the read
    position: int = UNIT.unpack(data)[0] if len(data) == UNIT_BYTES else -1
    return position


def readable_end(queue: ConsumeQueue, readable: int) -> ReadTask[int]:
    """The end of the units that consumers may see; mostly the end of all units."""
    if queue.physical_end <= readable:
        return queue.end
    low, high, step = queue.minimum, queue.end, 1
    while low < high:
        probe = max((low + high) // 2, high - step)  # few are not readable, at the very end
        if (yield from unit_position(queue, probe)) < readable:
            low = probe + 1
        else:
            high = probe
            step *= 2
    return low


def readable_end_now(queue: ConsumeQueue, readable: int) -> int:
    """The same without waiting; the queue's minimum if the search needs a unit that is not in
    memory. That is rare, because units that are not readable are new."""
    search = readable_end(queue, readable)
    try:
        next(search)
    except StopIteration as stop:
        end: int = stop.value
        return end
    search.close()
    return queue.minimum


def _log_file(log: CommitLog, position: int) -> File:
    if not log.holds(position):
        raise DiskError(DiskFailure.NOT_FOUND, "read", log.segments.path_of(position))
    return log.segments.file_of(position)
