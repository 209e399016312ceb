"""Checks the consume queues against the log, in both directions, for offline tools.

    for each record of the log, in its order:  see(...)     compares the unit the record must have
    at the end:                                finish(...)  checks all other units

A queue's records come in the order of its units, so one cursor for each queue is enough, and the
log is read once. Units before the queue's first record in the log must belong to records that the
log has deleted; units behind its last one have no record. Memory: one small cursor for each queue,
and `PAGES_MAX` pages of units.

A queue offset that occurs again is either a record that stays invisible, or the record with which
the queue begins anew, because its topic was deleted and created again. The queue begins anew if its
unit is this record's, or if the queue did not agree with the log so far and this would be its first
message. Findings about such a queue until then mean nothing: the log must be read once more,
without its records before `begun_anew`.

Not compared are units of queues that a record names besides its own (%LMQ%), of batch queues, and
tags codes that point into a consumequeue_ext.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.disk import Disk
from gantrymq.store.consumequeue.queue_folder import queue_id_of
from gantrymq.store.consumequeue.queue_unit import UNIT, UNIT_BYTES, is_blank
from gantrymq.store.files.open_files import OpenFiles
from gantrymq.store.layout import CONSUME_QUEUE, POSITION_MAX
from gantrymq.store.offline.file_row import FileRow, read_row
from gantrymq.store.offline.finding import Finding, Findings, Kind, Severity
from gantrymq.store.offline.store_sizes import queue_folders

PAGE_UNITS: Final = 819  # just under 16 KiB
PAGES_MAX: Final = 4096  # 64 MiB

SCHEDULE_TOPIC: Final = "SCHEDULE_TOPIC_XXXX"
LMQ_PREFIX: Final = "%LMQ%"

# Java's ConsumeQueueExt: if it is in use, a tags code this low is an address in it.
EXT_FOLDER: Final = "consumequeue_ext"
EXT_ADDRESS_MAX: Final = -0x7FFFFFFF - 2

ABSENT: Final = (0, 0, 0)
Unit = tuple[int, int, int]


@final
@dataclass(frozen=True, slots=True)
class LogRange:
    """The range of the log, and whether its last writer crashed. The next start adds units that are
    missing from `units_from` on, and keys from `keys_from` on."""

    start: int
    end: int
    is_crashed: bool
    units_from: int = POSITION_MAX
    keys_from: int = POSITION_MAX


@final
class QueueCursor:
    """The progress of the log's records in one queue. Numbers are -1 as long as none was seen."""

    __slots__ = (
        "agrees",
        "deleted",
        "first",
        "first_position",
        "folder",
        "gap_at",
        "missing_from",
        "missing_position",
        "next",
        "paths",
        "row",
    )

    def __init__(self, folder: str, row: FileRow) -> None:
        self.folder: str = folder
        self.row: FileRow = row
        self.paths: dict[int, str] = {file.start: file.path for file in row.files}
        self.agrees: bool = True
        self.deleted: int = -1  # the last unit whose record was deleted with the topic
        self.first: int = -1
        self.first_position: int = -1
        self.gap_at: int = -1  # the position of the first message behind a gap
        self.next: int = -1
        self.missing_from: int = -1
        self.missing_position: int = -1


@final
class QueueInspection:
    """The check of all queues of one store."""

    __slots__ = (
        "_cursors",
        "_file_bytes",
        "_files",
        "_findings",
        "_has_ext",
        "_pages",
        "begun_anew",
        "damaged",
        "foreign",
        "known_end",
        "units",
    )

    def __init__(self, disk: Disk, file_bytes: int, findings: Findings) -> None:
        self._files = OpenFiles(disk)
        self._file_bytes = file_bytes
        self._findings = findings
        self._has_ext = any(each.name == EXT_FOLDER for each in disk.list(""))
        self._cursors: dict[tuple[str, int], QueueCursor] = {}
        self._pages: dict[tuple[str, int], bytes] = {}
        self.begun_anew: dict[tuple[str, int], int] = {}
        """The positions of the first records of queues that began anew."""
        self.damaged: dict[tuple[str, int], None] = {}
        """The queues to be rebuilt, in the order they were found."""
        self.foreign: list[str] = []
        """The paths of entries that do not belong where they are."""
        self.units = 0
        self.known_end = 0
        """The end of the newest message that a unit behind the log's end points to."""

    def load(self) -> None:
        """List the folders."""
        disk, findings = self._files.disk, self._findings
        for topic in disk.list(CONSUME_QUEUE):
            if not topic.is_folder:
                path = f"{CONSUME_QUEUE}/{topic.name}"
                self.foreign.append(path)
                findings.error(Kind.FOREIGN, path, "only folders of topics belong here")
        for topic_name, name in queue_folders(disk):
            folder = f"{CONSUME_QUEUE}/{topic_name}/{name}"
            queue_id = queue_id_of(name)
            if queue_id is None:
                self.foreign.append(folder)
                findings.error(Kind.FOREIGN, folder, "folders here are named by a queue's number")
                continue
            row = read_row(disk, folder, self._file_bytes, findings, Kind.QUEUE_FILES)
            self.foreign += row.foreign
            key = (topic_name, queue_id)
            self._cursors[key] = QueueCursor(folder, row)
            if row.gaps or any(file.size > self._file_bytes for file in row.files):
                self.damaged[key] = None

    @property
    def count(self) -> int:
        return len(self._cursors)

    def folder(self, key: tuple[str, int]) -> str:
        return self._cursors[key].folder

    def short_files(self) -> Iterator[str]:
        """The paths of files that are too short, of queues that need not be rebuilt."""
        for key, cursor in self._cursors.items():
            if key not in self.damaged:
                yield from [file.path for file in cursor.row.files if file.size < self._file_bytes]

    def why_not_rebuilt(self, key: tuple[str, int], log_end: int) -> str:
        """Why a log that ends at `log_end` cannot restore this queue; "" if it can."""
        cursor = self._cursors[key]
        if cursor.first < 0 or (cursor.first > 0 and cursor.first_position >= log_end):
            return "the log has none of its messages, so its next offset would be lost"
        if 0 <= cursor.gap_at < log_end:
            return "the log lacks some of its messages, so later ones would get other offsets"
        return ""

    def seen(self) -> Iterator[tuple[str, int]]:
        """The queues of which the log has messages."""
        return (key for key, cursor in self._cursors.items() if cursor.first >= 0)

    def see(self, key: tuple[str, int], offset: int, due: Unit) -> None:
        """Check the next record of the log that has a unit; the unit must be `due`."""
        cursor = self._cursors.get(key)
        if cursor is None:
            folder = f"{CONSUME_QUEUE}/{_name(key)}"
            cursor = self._cursors[key] = QueueCursor(folder, FileRow(self._file_bytes, ()))
        if cursor.first < 0:
            self._leave_out(key, cursor)
            cursor.first = cursor.next = offset
            cursor.first_position = due[0]
        if offset < cursor.next and self._begins_anew(cursor, offset, due):
            self.begun_anew[key] = due[0]
            cursor.first = cursor.next = offset
            cursor.first_position = due[0]
            cursor.agrees, cursor.gap_at, cursor.missing_from = True, -1, -1
        if offset < cursor.next:
            text = f"the message at {due[0]} has queue offset {offset}, like an earlier message"
            self._findings.warn(Kind.QUEUE_TWICE, _name(key), text, due[0])
            return
        if offset > cursor.next:
            self._gap(key, cursor, offset, due[0])
        cursor.next = offset + 1
        self._compare(key, cursor, offset, due)

    def see_deleted(self, key: tuple[str, int], offset: int, place: tuple[int, int]) -> None:
        """Note the next record of a deleted topic: the old queue may still exist."""
        cursor = self._cursors.get(key)
        if cursor is not None and self._unit(cursor, offset)[:2] == place:
            cursor.deleted = offset

    def finish(self, log: LogRange) -> Iterator[int]:
        """Check the units that have no record; yields how many queues are done."""
        for done, (key, cursor) in enumerate(self._cursors.items(), 1):
            if not key[0].startswith(LMQ_PREFIX):
                if cursor.first < 0:
                    self._leave_out(key, cursor)
                if cursor.missing_from >= 0:
                    self._missing_tail(key, cursor, log)
                if cursor.first >= 0:
                    self._look_before(key, cursor, log)
                self._look_behind(key, cursor, log)
            yield done

    def _leave_out(self, key: tuple[str, int], cursor: QueueCursor) -> None:
        """Leave out a queue whose last message was deleted: the next start removes it first."""
        if cursor.deleted < 0 or self._unit(cursor, cursor.deleted + 1) is not ABSENT:
            return
        text = f"its messages up to queue offset {cursor.deleted} were deleted with the topic"
        self._findings.note(Kind.QUEUE_DELETED, _name(key), text)
        self._pages = {at: page for at, page in self._pages.items() if at[0] != cursor.folder}
        cursor.row, cursor.paths = FileRow(self._file_bytes, ()), {}
        self.damaged.pop(key, None)

    # ------------------------------------------------------------------ against the log

    def _begins_anew(self, cursor: QueueCursor, offset: int, due: Unit) -> bool:
        agrees = cursor.agrees and cursor.missing_from < 0
        return self._unit(cursor, offset)[:2] == due[:2] or (offset == 0 and not agrees)

    def _compare(self, key: tuple[str, int], cursor: QueueCursor, offset: int, due: Unit) -> None:
        unit = self._unit(cursor, offset)
        self.units += unit is not ABSENT
        if unit is ABSENT:
            if cursor.missing_from < 0:
                cursor.missing_from, cursor.missing_position = offset, due[0]
            return
        if cursor.missing_from >= 0:
            text = f"{offset - cursor.missing_from} units from {cursor.missing_from} on are missing"
            self._damage(key, Kind.UNIT_MISSING, text, due[0])
            cursor.missing_from = -1
        if unit[:2] != due[:2]:
            text = f"unit {offset} says {unit[1]} bytes at {unit[0]}, the log {due[1]} at {due[0]}"
            self._damage(key, Kind.UNIT_WRONG, text, due[0])
        elif unit[2] != due[2] and not (self._has_ext and unit[2] <= EXT_ADDRESS_MAX):
            text = f"unit {offset} has tags code {unit[2]}, the log's message {due[2]}"
            if key[0] == SCHEDULE_TOPIC:
                self._findings.warn(Kind.UNIT_DELAY, _name(key), text, due[0])
            else:
                self._damage(key, Kind.UNIT_TAGS, text, due[0])

    def _gap(self, key: tuple[str, int], cursor: QueueCursor, offset: int, position: int) -> None:
        """Report messages that are missing between two queue offsets."""
        past = min(offset, cursor.next + PAGE_UNITS)  # a page is enough: blanks are never few
        units = [self._unit(cursor, number) for number in range(cursor.next, past)]
        if all(is_blank(unit[0], unit[1]) for unit in units):
            return
        cursor.gap_at = position if cursor.gap_at < 0 else cursor.gap_at
        count = offset - cursor.next
        text = f"{count} messages, from queue offset {cursor.next} on, are not in the log"
        self._findings.error(Kind.QUEUE_GAP, _name(key), text, position)

    def _missing_tail(self, key: tuple[str, int], cursor: QueueCursor, log: LogRange) -> None:
        count = cursor.next - cursor.missing_from
        text = f"the last {count} messages have no units, from {cursor.missing_from} on"
        if cursor.missing_position >= log.units_from:
            self._findings.note(Kind.UNIT_PENDING, _name(key), text, cursor.missing_position)
        else:
            self._damage(key, Kind.UNIT_MISSING, text, cursor.missing_position)

    # ------------------------------------------------------------------ units without a record

    def _look_before(self, key: tuple[str, int], cursor: QueueCursor, log: LogRange) -> None:
        """Check that all units before the first record in the log belong to deleted records."""
        start = cursor.row.first // UNIT_BYTES
        if not cursor.row.files or start >= cursor.first:
            return
        for number, unit in self._range(cursor, start, cursor.first):
            if unit is ABSENT:
                self._damage(key, Kind.UNIT_MISSING, f"unit {number} is missing", None)
                return
            if not is_blank(unit[0], unit[1]) and unit[0] + unit[1] > log.start:
                self._stray(key, number, unit)
                return

    def _look_behind(self, key: tuple[str, int], cursor: QueueCursor, log: LogRange) -> None:
        """Check the units behind the last record that the log has of this queue."""
        start = cursor.next if cursor.first >= 0 else cursor.row.first // UNIT_BYTES
        ahead, stray = 0, False
        for number, unit in self._range(cursor, start, cursor.row.past // UNIT_BYTES):
            if unit is ABSENT:
                break
            if is_blank(unit[0], unit[1]):
                continue
            if unit[0] >= log.end:
                ahead += 1
                self.known_end = max(self.known_end, unit[0] + unit[1])
            elif not stray and (unit[0] + unit[1] > log.start or cursor.first >= 0):
                self._stray(key, number, unit)
                stray = True
        if ahead:
            severity = Severity.WARNING if log.is_crashed else Severity.ERROR
            text = f"{ahead} units name records behind the log's end, {log.end}"
            finding = Finding(severity, Kind.UNIT_AHEAD, _name(key), text, log.end)
            self._findings.add(finding)

    def _stray(self, key: tuple[str, int], number: int, unit: Unit) -> None:
        text = f"unit {number} says {unit[1]} bytes at {unit[0]}, where no message of this queue is"
        self._damage(key, Kind.UNIT_WRONG, text, unit[0])

    def _damage(self, key: tuple[str, int], kind: Kind, text: str, position: int | None) -> None:
        self._cursors[key].agrees = False
        self.damaged[key] = None
        self._findings.error(kind, _name(key), text, position)

    # ------------------------------------------------------------------ units

    def _range(self, cursor: QueueCursor, first: int, past: int) -> Iterator[tuple[int, Unit]]:
        for number in range(first, past):
            yield number, self._unit(cursor, number)

    def _unit(self, cursor: QueueCursor, number: int) -> Unit:
        """The unit; ABSENT if the files have no valid one."""
        page_number, at = divmod(number, PAGE_UNITS)
        page = self._pages.pop((cursor.folder, page_number), None)
        if page is None:
            page = self._read_page(cursor, page_number * PAGE_UNITS)
            if len(self._pages) >= PAGES_MAX:
                del self._pages[next(iter(self._pages))]
        self._pages[cursor.folder, page_number] = page
        if len(page) < (at + 1) * UNIT_BYTES:
            return ABSENT
        offset, size, tags_code = UNIT.unpack_from(page, at * UNIT_BYTES)
        return (offset, size, tags_code) if offset >= 0 and size > 0 else ABSENT

    def _read_page(self, cursor: QueueCursor, first: int) -> bytes:
        """The units of a page, from all files that it spans; zeros if a file is missing."""
        begin, end = first * UNIT_BYTES, (first + PAGE_UNITS) * UNIT_BYTES
        data = bytearray(end - begin)
        for start in range(begin - begin % self._file_bytes, end, self._file_bytes):
            low, high = max(begin, start), min(end, start + self._file_bytes)
            path = cursor.paths.get(start)
            if path is not None:
                piece = self._files.get(path).read(low - start, high - low)
                data[low - begin : low - begin + len(piece)] = piece
        return bytes(data)


def _name(key: tuple[str, int]) -> str:
    return f"{key[0]}/{key[1]}"
