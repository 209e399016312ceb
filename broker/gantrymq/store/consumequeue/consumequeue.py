"""Stores the consume queue of one message queue: units that point into the commit log.

    start <= written <= end           unit numbers; `written` is where the files' units end
      |  files   |  tail  |
    start <= minimum <= end           the first visible unit: its record is in the log, and
                                      it is not below `floor`

A unit below `end` never changes, except that `cut` removes units from the end. New units are
buffered in `tail` and cost no I/O until `write`; a queue without new units has no tail. `write` and
`cut` may be repeated after a DiskError: they change the state only when they have succeeded.

The log is fsynced before its units are written: `write` keeps the units of records behind the log's
flush position in the tail. So whatever a crash leaves behind the end of a queue, whole or torn, is
part of what the log will write there again. It needs neither wiping nor a sync. This does not hold
for what another program wrote, nor for what `cut` removes: `cut` wipes those units in the files,
for otherwise units of a discarded history could be found behind new ones after a crash. Wiping
needs a sync as new units do, so `synced` goes back to the start of the wiped file.

queue_unit.py has the byte layout, queue_folder.py the files.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, final

from librt.strings import BytesWriter, write_i32_be, write_i64_be
from mypy_extensions import i32, i64

from gantrymq.base.disk import Background
from gantrymq.base.errors import CorruptionError, LocalError
from gantrymq.store.consumequeue.queue_folder import PAGE_UNITS, AfterCrash, QueueFolders, survey
from gantrymq.store.consumequeue.queue_snapshot import QueueState
from gantrymq.store.consumequeue.queue_unit import (
    UNIT,
    UNIT_BYTES,
    below_count,
    is_blank,
    physical_end,
)


class Appended(Enum):
    """The outcome of appending a unit."""

    ADDED = "added"
    KNOWN = "known"
    """The queue has the unit already: dispatching a part of the log again changes nothing."""
    GAP = "gap"
    """Units before it are missing; nothing was changed. The queue must be cleared and rebuilt."""


ADDED: Final = Appended.ADDED
KNOWN: Final = Appended.KNOWN
GAP: Final = Appended.GAP


@final
class ConsumeQueue:
    """One consume queue, owned by `Queues`. It is created closed; `open` reads the state of its
    files. A broker may have 100 000 of these in memory, hence the slots."""

    __slots__ = (
        "_minimum",
        "_number",
        "cuts",
        "end",
        "files_end",
        "floor",
        "folders",
        "has_new_name",
        "has_news",
        "is_open",
        "minimum_physical",
        "physical_end",
        "queue_id",
        "start",
        "synced",
        "tail",
        "taken",
        "topic",
        "written",
    )

    def __init__(self, folders: QueueFolders, topic: str, queue_id: int) -> None:
        self.folders: QueueFolders = folders
        self.topic: str = topic
        self.queue_id: int = queue_id
        self._number: int = folders.pages.join()
        self.is_open: bool = False
        """False before the queue is opened, and after its topic is deleted. Code that caches a
        queue checks this, and looks it up again if False."""
        self.has_new_name: bool = False
        self.cuts: int = 0  # a sync begun before a cut does not cover the units after it
        self.tail: BytesWriter | None = None
        self.taken: i64 = 0
        """The number of messages of the current group that have queue offsets but no units yet."""
        self.has_news: bool = False
        """Whether the queue is already in the dispatcher's list of queues with new units."""
        self.floor: i64 = 0
        """Units below this number are hidden even if the log still has their records; 0: none
        are."""
        self.start: i64 = 0
        self.files_end: i64 = 0
        self.synced: i64 = 0
        self.written: i64 = 0
        self.end: i64 = 0
        self._minimum: i64 = 0
        self.minimum_physical: i64 = -1
        self.physical_end: i64 = 0

    def open(self, crash: AfterCrash | None = None) -> str:
        """Read the state from the files. Return what is wrong with them, or "".

        The caller must mend a queue with a fault next.
        """
        found = survey(self.folders, self.topic, self.queue_id, crash)
        self.start, self.files_end = found.start, found.files_end
        self.synced = self.written = self.end = found.end
        self._minimum = found.start
        self.physical_end = physical_end(found.last) if found.last else 0
        self.is_open = True
        # After a crash of the process alone, the names may exist only in the kernel's memory.
        self.has_new_name = crash is not None and found.files_end > found.start
        if crash is not None and not crash.is_ours and not found.fault:
            self.mend()
        return found.fault

    def mend(self) -> None:
        """Wipe everything behind the end, and sync the folder."""
        self._wipe(self.end)
        # The previous process may have been killed between a removal and its sync.
        self.folders.sync(self.topic, self.queue_id)

    def restore(self, state: QueueState) -> None:
        """Take the state that a clean stop saved, instead of reading the files."""
        self.start, self.files_end = state.start, state.files_end
        self.synced = self.written = self.end = state.end
        self.physical_end = state.physical_end
        self._minimum, self.minimum_physical = state.minimum, state.minimum_physical
        self.is_open = True

    def state(self) -> QueueState:
        """The state for `restore`. The tail must be empty."""
        return QueueState(
            self.queue_id,
            self.start,
            self.files_end,
            self.end,
            self.physical_end,
            self._minimum,
            self.minimum_physical,
        )

    @property
    def minimum(self) -> int:
        """The number of the first visible unit.

        The search for it, after the log's start has moved, may wait for the disk.
        """
        self.correct_minimum(self.folders.log_minimum)
        return max(self._minimum, self.floor)

    def append(self, offset: i64, physical_offset: i64, size: i64, tags_code: i64) -> Appended:
        """Add unit number `offset` at the end."""
        if physical_offset + size <= self.physical_end:
            return KNOWN
        if offset != self.end:
            if self.end != self.start:
                # The record is behind all known ones, but its number is not next.
                return GAP
            self._begin(offset)  # a queue without units may begin anywhere
        tail = self.tail
        if tail is None:
            tail = self.tail = BytesWriter()
        write_i64_be(tail, physical_offset)
        write_i32_be(tail, i32(size))
        write_i64_be(tail, tags_code)
        self.end = offset + 1
        self.physical_end = physical_offset + size
        return ADDED

    def read(self, offset: int, count: int) -> bytes | None:
        """Units from `offset` on: at most `count`, and at least one if the queue has one there.

        None if they are not in memory: use `request`.
        """
        wanted = min(count, self.end - offset)
        if offset < self.start or wanted <= 0:
            return b""
        in_file = self._in_file(offset, wanted)
        if in_file == 0:
            return self._from_tail(offset, wanted)
        data = self.folders.pages.find(self._number, offset, in_file)
        if data is None:
            data = self._from_file(offset, in_file)
        if data is not None and wanted > in_file and offset + in_file == self.written:
            data += self._from_tail(self.written, wanted - in_file)
        return data

    def request(self, background: Background, offset: int, count: int) -> int:
        """Read in the background the units that `read` could not return; returns the ticket."""
        in_file = self._in_file(offset, min(count, self.end - offset))
        if offset < self.start or in_file <= 0:
            raise LocalError(f"{self._path(offset)} has no unit {offset}")
        file = self.folders.files.get(self._path(offset))
        return background.read(file, self._position(offset), in_file * UNIT_BYTES)

    def unit(self, offset: int) -> tuple[int, int, int]:
        """(physical offset, size, tags code) of a unit below the end; may wait for the disk."""
        physical_offset: int
        size: int
        tags_code: int
        physical_offset, size, tags_code = UNIT.unpack(self._unit(offset))
        return physical_offset, size, tags_code

    @property
    def unwritten_bytes(self) -> int:
        return 0 if self.tail is None else len(self.tail)

    @property
    def unsynced_bytes(self) -> int:
        return (self.end - self.synced) * UNIT_BYTES

    def write(self) -> None:
        """Move the units whose records are fsynced from the tail into the files."""
        if self.tail is None:
            return
        tail = self.tail.getvalue()
        stop = self.end
        if self.physical_end > self.folders.log_flushed:
            stop = self.written + below_count(tail, self.folders.log_flushed)
        unit = self.written
        while unit < stop:
            file_end = unit - unit % self.folders.file_units + self.folders.file_units
            past = min(stop, file_end)
            piece = tail[(unit - self.written) * UNIT_BYTES : (past - self.written) * UNIT_BYTES]
            self._write_at(unit, piece)
            unit = past
        rest = tail[(unit - self.written) * UNIT_BYTES :]
        self.written = unit
        self.tail = _writer(rest) if rest else None

    def unsynced_files(self) -> list[str]:
        """The paths of the files that have units written since the last sync."""
        step = self.folders.file_units
        first = self.synced - self.synced % step
        return [self._path(unit) for unit in range(first, self.written, step)]

    def sync_names(self) -> None:
        """Sync the folders of new files, so that a crash does not lose their names."""
        if self.has_new_name:
            disk = self.folders.files.disk
            folder = self.folders.folder(self.topic, self.queue_id)
            disk.sync_folder(folder)
            if self.synced == self.start:  # its first file: the folders may be new too
                topic_folder = folder.rpartition("/")[0]
                disk.sync_folder(topic_folder)
                disk.sync_folder(self.folders.root)
            self.has_new_name = False

    def cut(self, end: int) -> None:
        """Remove the units from `end` on."""
        if not self.start <= end <= self.end:
            raise LocalError(f"{self._path(end)}: cannot end at {end}, it ends at {self.end}")
        if end < self.files_end:
            self._wipe(end)  # also units that a crash left behind `written`: they are invalid now
        if self.tail is not None:
            self.tail.truncate(max(0, end - self.written) * UNIT_BYTES)
            if len(self.tail) == 0:
                self.tail = None
        self.written = min(self.written, end)
        self.end = end
        self.cuts += 1
        self._minimum = min(self._minimum, end)
        self.floor = min(self.floor, end)
        self.minimum_physical = -1
        self.physical_end = physical_end(self._unit(end - 1)) if end > self.start else 0

    def end_in_log(self, physical_offset: int) -> int:
        """The end that the queue would have if the log ended here; the caller cuts it there."""
        if self.physical_end <= physical_offset:
            return self.end
        return self._first_from(self.start, physical_offset)

    def clear(self) -> None:
        """Remove all units and files. The next unit may have any number."""
        self._wipe(self.start)
        self.cuts += 1
        self.tail = None
        self.physical_end = 0
        self.minimum_physical = -1
        self.start = self.files_end = self.synced = self.written = self.end = self._minimum = 0
        self.floor = 0

    def correct_minimum(self, log_minimum: int) -> None:
        """Move `minimum` to the first unit whose record is at or behind the log's start."""
        if self._minimum < self.end and self.minimum_physical >= log_minimum:
            return
        if self.physical_end <= log_minimum:
            self._minimum = self.end
        else:
            self._minimum = self._first_from(max(self._minimum, self.start), log_minimum)
        self.minimum_physical = self.unit(self._minimum)[0] if self._minimum < self.end else -1

    def expired_file(self, log_minimum: int) -> str:
        """The path of the first file if the log has none of its records any more, else "".

        The file no longer belongs to the queue. The caller must remove it and sync its folder
        before it asks for the next one, so that a crash never leaves a gap. The last file always
        stays.
        """
        next_start = self.start + self.folders.file_units
        if next_start >= self.files_end or next_start > self.written:
            return ""
        self.correct_minimum(log_minimum)
        if self._minimum < next_start:
            return ""
        path = self._path(self.start)
        self.folders.files.forget(path)
        self.start = next_start
        self.synced = max(self.synced, next_start)
        return path

    def keep_file(self) -> None:
        """Take the file back that `expired_file` returned last, because it could not be removed."""
        self.start -= self.folders.file_units

    def _begin(self, offset: int) -> None:
        """Write blank units before the first unit of a queue that does not begin at a file's
        start."""
        start = offset - offset % self.folders.file_units
        self._wipe(self.start)
        self.start = self.files_end = start
        blanks = self.folders.blanks
        unit = start
        while unit < offset:
            piece = blanks[: (offset - unit) * UNIT_BYTES]
            self._write_at(unit, piece)
            unit += len(piece) // UNIT_BYTES
        self.synced = start
        self.written = self.end = self._minimum = offset
        self.minimum_physical = -1

    def _write_at(self, unit: int, piece: bytes) -> None:
        """Write units into one file, and create the file if it is new."""
        files = self.folders.files
        path = self._path(unit)
        if unit < self.files_end:
            file = files.get(path)
        else:
            files.disk.make_folder(self.folders.folder(self.topic, self.queue_id))
            file = files.create(path, self.folders.file_bytes)
            self.has_new_name = True
            self.files_end = unit - unit % self.folders.file_units + self.folders.file_units
        file.write(self._position(unit), [piece])

    def _wipe(self, end: int) -> None:
        """Zero everything behind `end`, and remove the files that start there or later."""
        self.folders.pages.drop(self._number)
        files = self.folders.files
        step = self.folders.file_units
        first_removed = -(-end // step) * step  # the first file that starts at `end` or later
        removed = range(first_removed, self.files_end, step)
        for unit in reversed(removed):
            files.remove(self._path(unit))
        if removed:
            files.disk.sync_folder(self.folders.folder(self.topic, self.queue_id))
            self.files_end = first_removed
        if end < self.files_end:
            file = files.get(self._path(end))
            file.resize(self._position(end))
            file.resize(self.folders.file_bytes)
        self.synced = min(self.synced, end - end % step)

    def _in_file(self, offset: int, wanted: int) -> int:
        """How many of the wanted units are in the file that contains the first one."""
        step = self.folders.file_units
        return max(0, min(wanted, self.written - offset, step - offset % step))

    def _from_file(self, offset: int, count: int) -> bytes | None:
        """Units from a file. If a consumer reads sequentially, a page of units is read ahead."""
        pages = self.folders.pages
        size = count * UNIT_BYTES
        file = self.folders.files.get(self._path(offset))
        if pages.ends_at(self._number, offset):
            ahead = self._in_file(offset, PAGE_UNITS) * UNIT_BYTES
            page = file.read_cached(self._position(offset), ahead) if ahead > size else None
            if page is not None and len(page) == ahead:
                pages.keep(self._number, offset, page)
                return page[:size]
        data = file.read_cached(self._position(offset), size)
        if data is not None and len(data) == size:
            pages.keep(self._number, offset, data)
        return data

    def _from_tail(self, offset: int, count: int) -> bytes:
        if self.tail is None:
            return b""
        first = (offset - self.written) * UNIT_BYTES
        return _piece(self.tail, first, min(first + count * UNIT_BYTES, len(self.tail)))

    def _unit(self, offset: int) -> bytes:
        if not self.start <= offset < self.end:
            raise LocalError(f"{self._path(offset)} has no unit {offset}")
        if offset >= self.written:
            return self._from_tail(offset, 1)
        data = self.folders.files.get(self._path(offset)).read(self._position(offset), UNIT_BYTES)
        if len(data) != UNIT_BYTES:
            raise CorruptionError(f"{self._path(offset)} was cut before unit {offset}")
        return data

    def _first_from(self, low: int, physical_offset: int) -> int:
        """The first unit, from `low` on, whose record is at or behind this log position."""
        high = self.end
        middle = low  # it is often the result
        while low < high:
            offset, size, _ = self.unit(middle)
            if offset >= physical_offset and not is_blank(offset, size):
                high = middle
            else:
                low = middle + 1
            middle = (low + high) // 2
        return low

    def _path(self, unit: int) -> str:
        return self.folders.path(self.topic, self.queue_id, unit)

    def _position(self, unit: int) -> int:
        return unit % self.folders.file_units * UNIT_BYTES


def _writer(data: bytes) -> BytesWriter:
    writer = BytesWriter()
    writer.write(data)
    return writer


def _piece(writer: BytesWriter, start: i64, stop: i64) -> bytes:
    """A part of the buffer, without a copy of the rest."""
    piece = BytesWriter()
    at = start
    while at < stop:
        piece.append(writer[at])
        at += 1
    return piece.getvalue()
