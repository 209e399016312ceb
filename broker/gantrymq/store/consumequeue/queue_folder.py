"""Reads the folder of one consume queue: its files, and where its units end.

    consumequeue/<topic>/<queue id>/00000000000000000000     20 digits: the file's first byte
                                    00000000000006000000     in the sequence of all units

Every file is created with its full length; zeros follow the last unit. `survey` reads a folder as
Java does, and handles what a crash can do to files that were not synced:

- A last file of length 0 is removed. Any size but the full one is CorruptionError (another
  mappedFileSizeConsumeQueue); after a crash, short files are extended with zeros instead.
- Files behind a missing one cannot be used: the queue ends before it, and `fault` says so.
- After a clean stop the last file is searched for its last valid unit.
- After a crash, a unit is trusted only if its record lies below the log position up to which the
  queues were synced. If the first unit of a file names such a record, and the log confirms it, all
  files before are sound; the newest such file is the start. From there every unit is read, until
  one that is not valid, not in the log's order, or not below that position. Those units are a run
  of true ones, perhaps followed by false ones: a unit torn in the middle, or of a history that was
  cut. The log has no such message, so it tells where the true ones end. (Java reads all units from
  the third last file on.) The log cannot confirm messages before its start: units of those are
  trusted.

A short queue in one file costs one listing and the reading of one page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from gantrymq.base.disk import DiskError, DiskFailure, Entry, File
from gantrymq.base.errors import CorruptionError, LocalError
from gantrymq.store.consumequeue.queue_unit import (
    BLANK,
    UNIT,
    UNIT_BYTES,
    below_count,
    is_blank,
    ordered_count,
    valid_count,
)
from gantrymq.store.consumequeue.unit_pages import UnitPages
from gantrymq.store.files.open_files import OpenFiles
from gantrymq.store.layout import NAME_DIGITS, POSITION_MAX, parse_name

FOLDER_NAME_BYTES_MAX: Final = 255  # what file systems allow
QUEUE_ID_MAX: Final = 0x7FFFFFFF

SCAN_BYTES: Final = UNIT_BYTES * 3276  # just under 64 KiB
PAGE_UNITS: Final = 4096 // UNIT_BYTES


def folder_fault(topic: str, queue_id: int) -> str | None:
    """Why a queue cannot have a folder, or None. Java's topics are words of [%|a-zA-Z0-9_-]. A log
    may hold other names, and they must not lead out of the folder."""
    if not topic or topic in {".", ".."} or "/" in topic or "\0" in topic:
        return f"topic {topic!r} cannot be the name of a folder"
    if len(topic.encode("utf-8", "surrogatepass")) > FOLDER_NAME_BYTES_MAX:
        return f"topic {topic!r} is too long for a folder's name"
    if not 0 <= queue_id <= QUEUE_ID_MAX:
        return f"topic {topic!r} cannot have a queue {queue_id}"
    return None


def queue_id_of(name: str) -> int | None:
    """The queue id of a folder with this name; None if it is not a queue's folder."""
    is_number = name.isascii() and name.isdigit() and name == str(int(name))
    return int(name) if is_number and int(name) <= QUEUE_ID_MAX else None


@final
class QueueFolders:
    """What all queues share: the place of their folders, and the length of their files."""

    __slots__ = (
        "blanks",
        "file_bytes",
        "file_units",
        "files",
        "log_flushed",
        "log_minimum",
        "pages",
        "root",
    )

    def __init__(self, files: OpenFiles, root: str, file_bytes: int) -> None:
        if file_bytes < 1:
            raise LocalError(f"a queue file cannot have {file_bytes} bytes")
        self.files: OpenFiles = files
        self.root: str = root
        self.file_units: int = -(-file_bytes // UNIT_BYTES)  # Java rounds up as well
        self.file_bytes: int = self.file_units * UNIT_BYTES
        self.log_minimum: int = 0
        """The start of the log: one number for all queues, however many there are."""
        self.log_flushed: int = POSITION_MAX
        """Units of records at or behind this log position are not written yet."""
        self.pages: UnitPages = UnitPages()
        self.blanks: bytes = BLANK * min(self.file_units, SCAN_BYTES // UNIT_BYTES)

    def folder(self, topic: str, queue_id: int) -> str:
        return f"{self.root}/{topic}/{queue_id}"

    def sync(self, topic: str, queue_id: int) -> None:
        """Sync the queue's folder, if it exists."""
        try:
            self.files.disk.sync_folder(self.folder(topic, queue_id))
        except DiskError as error:
            if error.failure is not DiskFailure.NOT_FOUND:
                raise

    def path(self, topic: str, queue_id: int, unit: int) -> str:
        """The path of the file that has this unit of the queue."""
        start = unit // self.file_units * self.file_bytes
        return f"{self.root}/{topic}/{queue_id}/{start:0{NAME_DIGITS}d}"


# Whether the log has this message: topic, queue id, queue offset, physical offset, size.
Confirms: TypeAlias = Callable[[str, int, int, int, int], bool]


@final
@dataclass(frozen=True, slots=True)
class AfterCrash:
    """The log position up to which every queue was synced, and a function that asks the log."""

    synced_offset: int
    confirms: Confirms
    is_ours: bool = False
    """Whether the queues have only units of records that were synced before."""
    is_size_known: bool = True
    """Whether the files had this size before, so that a crash has shortened the short ones."""


@final
@dataclass(frozen=True, slots=True)
class Survey:
    """Unit numbers: the start of the first file, the end of the last one, and the end of the valid
    units."""

    start: int
    files_end: int
    end: int
    fault: str = ""
    last: bytes = b""
    """The unit before the end."""


def survey(
    folders: QueueFolders, topic: str, queue_id: int, crash: AfterCrash | None = None
) -> Survey:
    """Read this queue's folder, after a clean stop or after a crash."""
    folder = folders.folder(topic, queue_id)
    entries = _usable(folders, folder, may_be_short=crash is not None and crash.is_size_known)
    if not entries:
        return Survey(0, 0, 0)
    starts = [int(entry.name) // UNIT_BYTES for entry in entries]
    count = 1
    while count < len(starts) and starts[count] == starts[count - 1] + folders.file_units:
        count += 1
    row = _Row(folders, topic, queue_id, starts[0], starts[count - 1] + folders.file_units)
    try:
        end = row.end_if_clean() if crash is None else row.end_after(crash)
        last = row.last_before(end)
    finally:
        row.close()
    fault = ""
    if count < len(starts):
        fault = (
            f"{folder}: a file is missing before {entries[count].name}; the queue is cut there "
            "and has to be rebuilt from the log"
        )
    files_end = starts[-1] + folders.file_units
    return Survey(starts[0], files_end, end, fault, last)


def _usable(folders: QueueFolders, folder: str, *, may_be_short: bool) -> Sequence[Entry]:
    """The files in order, each of full length."""
    disk = folders.files.disk
    entries = [entry for entry in disk.list(folder) if not entry.is_folder]
    if entries and entries[-1].size == 0 and parse_name(entries[-1].name) is not None:
        disk.remove(f"{folder}/{entries.pop().name}")
    for entry in entries:
        path = f"{folder}/{entry.name}"
        first_byte = parse_name(entry.name)
        if first_byte is None:
            raise CorruptionError(
                f"{path}: only files named by {NAME_DIGITS} digits belong in this folder;"
                " move it away"
            )
        if first_byte % folders.file_bytes:
            raise CorruptionError(f"{path} cannot start a file of {folders.file_bytes} bytes")
        if entry.size < folders.file_bytes and may_be_short:
            folders.files.get(path).resize(folders.file_bytes)
        elif entry.size != folders.file_bytes:
            raise CorruptionError(
                f"{path} has {entry.size} bytes, not {folders.file_bytes}: "
                "mappedFileSizeConsumeQueue must be what it was when the file was made"
            )
    return entries


@final
class _Row:
    """The consecutive files of one queue. They are read with handles of their own, because the few
    handles of `OpenFiles` are for queues in use."""

    __slots__ = ("_data", "_file", "_folders", "_queue_id", "_start", "_topic", "_unit", "past")

    def __init__(
        self, folders: QueueFolders, topic: str, queue_id: int, start: int, past: int
    ) -> None:
        self._folders: QueueFolders = folders
        self._topic: str = topic
        self._queue_id: int = queue_id
        self._start: int = start
        self._file: File | None = None
        self._unit: int = 0  # the first unit in `_data`
        self._data: bytes = b""
        self.past: int = past

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def end_if_clean(self) -> int:
        """The end of the valid units, which have no gap."""
        step = self._folders.file_units
        low = self.past - step
        while low > self._start and not self._is_valid(low - 1):
            low -= step  # the last file may have no unit
        high = low + step
        while high - low > PAGE_UNITS:
            count = valid_count(self._read(low, PAGE_UNITS))
            if count < PAGE_UNITS:
                return low + count
            low, high = self._halve(low + count, high)
        return low + valid_count(self._read(low, high - low)) if low < high else low

    def _halve(self, low: int, high: int) -> tuple[int, int]:
        """A shorter range that has the end: everything before `low` is valid."""
        middle = (low + high) // 2
        if self._is_valid(middle):
            return middle + 1, high
        return low, middle

    def end_after(self, crash: AfterCrash) -> int:
        """The end of the trusted units."""
        unit = first = self._sound_start(crash)
        count = PAGE_UNITS  # most queues are short
        while unit < self.past:
            data = self._read(unit, count)
            sound = data[: valid_count(data) * UNIT_BYTES]
            below = below_count(sound[: ordered_count(sound) * UNIT_BYTES], crash.synced_offset)
            unit += below
            if below < len(data) // UNIT_BYTES:
                break
            count = SCAN_BYTES // UNIT_BYTES
        return self._true_end(first, unit, crash)

    def _true_end(self, first: int, end: int, crash: AfterCrash) -> int:
        """The end of the units in this range that the log confirms; mostly `end`."""
        if end == first or self._is_confirmed(end - 1, crash):
            return end
        high = end - 1
        while first < high:
            middle = (first + high) // 2
            if self._is_confirmed(middle, crash):
                first = middle + 1
            else:
                high = middle
        return first

    def _sound_start(self, crash: AfterCrash) -> int:
        """The start of a file before which all files are sound."""
        unit = self.past - self._folders.file_units
        while unit > self._start and not self._is_confirmed(unit, crash):
            unit -= self._folders.file_units
        return unit

    def _is_confirmed(self, unit: int, crash: AfterCrash) -> bool:
        data = self._read(unit, 1)
        if valid_count(data) != 1:
            return False
        physical_offset, size, _ = UNIT.unpack(data)
        log_minimum = self._folders.log_minimum
        if is_blank(physical_offset, size) or physical_offset + size <= log_minimum:
            return True
        return log_minimum <= physical_offset < crash.synced_offset and crash.confirms(
            self._topic, self._queue_id, unit, physical_offset, size
        )

    def _is_valid(self, unit: int) -> bool:
        return valid_count(self._read(unit, 1)) == 1

    def last_before(self, end: int) -> bytes:
        return self._read(end - 1, 1) if end > self._start else b""

    def _read(self, unit: int, count: int) -> bytes:
        """Up to `count` units from `unit` on, in the file that has it."""
        at = (unit - self._unit) * UNIT_BYTES
        if at >= 0 and at + count * UNIT_BYTES <= len(self._data):
            return self._data[at : at + count * UNIT_BYTES]
        folders = self._folders
        path = folders.path(self._topic, self._queue_id, unit)
        if self._file is None or self._file.path != path:
            self.close()
            self._file = folders.files.disk.open(path)
        first = unit % folders.file_units
        size = min(count, folders.file_units - first) * UNIT_BYTES
        self._unit, self._data = unit, self._file.read(first * UNIT_BYTES, size)
        return self._data
