"""Checks a whole store that no broker has open: `gantry store check`.

    inspection = Inspection(disk, Assumptions(...))
    for progress in inspection.run(): ...
    inspection.findings, inspection.queues, inspection.breaks, ...

Every record of the log is read once, in order; queues and index are read side by side with it. If a
queue turns out to have begun anew, everything is checked once more with that knowledge. Nothing is
written, and memory does not grow with the log: it holds the list of files, one cursor for each
queue, the slots of one index file, and the first findings of each kind. If the log is missing,
nothing is compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, final

from gantrymq.base.disk import Disk, DiskError, DiskFailure
from gantrymq.store.consumequeue.queue_snapshot import PATH as SNAPSHOT_PATH
from gantrymq.store.files import checkpoint
from gantrymq.store.files.checkpoint import Checkpoint
from gantrymq.store.files.flush_positions import PATH as MARKS_PATH
from gantrymq.store.files.flush_positions import VOID, LogPosition
from gantrymq.store.layout import (
    ABORT,
    CHECKPOINT,
    COMMIT_LOG,
    CONSUME_QUEUE,
    INDEX,
    POSITION_MAX,
)
from gantrymq.store.offline.expectation import Expectation
from gantrymq.store.offline.file_row import FileRow, read_row
from gantrymq.store.offline.finding import Findings, Kind
from gantrymq.store.offline.index_inspection import IndexInspection
from gantrymq.store.offline.log_reader import Break, Cause, LogReader
from gantrymq.store.offline.missing_log import missing_log, witnesses
from gantrymq.store.offline.queue_inspection import LogRange, QueueInspection
from gantrymq.store.offline.store_sizes import StoreSizes, detect, newest_slot
from gantrymq.store.progress import Progress, ProgressTask
from gantrymq.store.record.delay_levels import DelayLevels
from gantrymq.store.record.dispatch_entry import DispatchEntry
from gantrymq.store.settings import StoreSettings

# With more breaks than this a log is beyond a plan. Later ones are not kept, except the last.
BREAKS_MAX: Final = 1000
RECORDS_A_STEP: Final = 4096
QUEUES_A_STEP: Final = 256

# The files that a start trusts without a check, in the order in which they must be moved aside.
VOUCHERS: Final = (MARKS_PATH, SNAPSHOT_PATH, CHECKPOINT)


@final
@dataclass(frozen=True, slots=True)
class Assumptions:
    """What a user, or a broker.conf, says about the store; sizes by RocketMQ's keys."""

    sizes: Mapping[str, int] = field(default_factory=dict)
    delay_level: str = StoreSettings().message_delay_level
    has_index: bool = True
    log_link: str = ""
    """The target of the link that the log's folder is, if it does not exist: a `Disk` cannot
    tell."""


@final
class LogFigures:
    """The figures of the log, as far as it was read."""

    __slots__ = ("bytes", "end", "first_ms", "last_ms", "records", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.end = start
        self.records = 0
        self.bytes = 0
        self.first_ms = 0
        self.last_ms = 0

    def add(self, position: int, size: int, store_ms: int) -> None:
        if not self.records:
            self.first_ms = store_ms
        self.records += 1
        self.bytes += size
        self.end = position + size
        self.last_ms = store_ms


@final
class Inspection:
    """One check; `run` fills it."""

    __slots__ = (
        "_assumptions",
        "_begins",
        "_disk",
        "_expectation",
        "_has_index",
        "_levels",
        "_mark",
        "_mark_seen",
        "_slot",
        "begun_anew",
        "breaks",
        "checkpoint",
        "derived",
        "findings",
        "index",
        "is_crashed",
        "log",
        "log_link",
        "missing",
        "queues",
        "row",
        "sizes",
        "vouchers",
    )

    def __init__(self, disk: Disk, assumptions: Assumptions) -> None:
        self._assumptions = assumptions
        self._disk = disk
        self._begin({})

    def _begin(self, begun_anew: Mapping[tuple[str, int], int]) -> None:
        """Start a check from the beginning. `begun_anew` has the positions of some queues' first
        records."""
        disk, assumptions = self._disk, self._assumptions
        self.begun_anew = begun_anew
        self.findings = Findings()
        self.sizes: StoreSizes = detect(disk, assumptions.sizes, self.findings)
        self.is_crashed = any(each.name == ABORT for each in disk.list(""))
        self.row: FileRow = read_row(disk, COMMIT_LOG, self.sizes.log_bytes, self.findings)
        self.log = LogFigures(self.row.first)
        self.breaks: list[Break] = []
        self.queues = QueueInspection(disk, self.sizes.queue_bytes, self.findings)
        self.index = IndexInspection(disk, self.sizes.index, self.findings, self.row.first)
        self.log_link = assumptions.log_link
        self.missing = ""
        """Says what is missing if the log, or its newest files, are not there; else ""."""
        self.checkpoint = Checkpoint()
        self.derived = tuple(path for path in (CONSUME_QUEUE, INDEX) if _exists(disk, path))
        self.vouchers = tuple(path for path in VOUCHERS if _exists(disk, path))
        self._levels = DelayLevels(assumptions.delay_level)
        self._expectation = Expectation(disk, self.sizes.index, begun_anew)
        self._has_index = assumptions.has_index or bool(self.index.heads)
        slot = newest_slot(disk)
        slot = None if slot is None or slot.positions == VOID else slot
        self._slot = slot
        self._begins: list[tuple[int, int]] = []  # of the log's files: position, first store time
        self._mark: LogPosition = slot.positions.log if slot else LogPosition()
        self._mark_seen = False

    def run(self) -> ProgressTask[None]:
        """Do the whole check, in small steps."""
        yield from self._look()
        if self.queues.begun_anew:
            self._begin(self.queues.begun_anew)
            for (topic, queue_id), position in self.begun_anew.items():
                text = f"the message at {position} is its first; earlier ones were deleted"
                self.findings.note(Kind.QUEUE_ANEW, f"{topic}/{queue_id}", text, position)
            yield from self._look()

    def _look(self) -> ProgressTask[None]:
        if self.is_crashed:
            text = "the last broker was killed, or is still running"
            self.findings.note(Kind.ABORT, ABORT, text)
        self.queues.load()
        self._read_checkpoint()
        if not self.row.files and self._is_missing():
            return
        yield from self._read_log()
        self._judge_checkpoint()
        units_from, keys_from = self._added_from()
        is_crashed = self.is_crashed
        log = LogRange(self.row.first, self._log_end(), is_crashed, units_from, keys_from)
        for done in self.queues.finish(log):
            if done % QUEUES_A_STEP == 0:
                yield Progress("queues", done, self.queues.count)
        self._judge_newest_files()
        if self._has_index:
            self.index.finish(log)
        self._judge_marks()

    def _added_from(self) -> tuple[int, int]:
        """The positions from which the next start adds missing units and keys; see
        recovery_start.py."""
        if not self.is_crashed:
            return POSITION_MAX, POSITION_MAX
        slot = self._slot
        if slot is not None and (self._mark_seen or slot.positions.log == LogPosition()):
            return slot.positions.queues, slot.positions.index
        limit_ms = self.checkpoint.recovery_ms()
        old = [start for start, store_ms in self._begins if 0 < store_ms <= limit_ms]
        start = max(old, default=self.row.first)
        return start, start

    def _log_end(self) -> int:
        return self.breaks[-1].position if self.breaks else self.log.end

    def _read_log(self) -> ProgressTask[None]:
        flushed = self._mark.position or POSITION_MAX
        reader = LogReader(self._disk, self.row, self._levels, flushed=flushed)
        for count, event in enumerate(reader.events()):
            if isinstance(event, Break):
                self._judge_break(event)
            else:
                self._see(event)
            if count % RECORDS_A_STEP == 0:
                size = self.row.past - self.row.first
                yield Progress("log", reader.position - self.row.first, size)
        reader.close()

    def _see(self, entry: DispatchEntry) -> None:
        position, size = int(entry.physical_offset), int(entry.size)
        store_ms = int(entry.store_timestamp_ms)
        if store_ms < self.log.last_ms:
            text = f"stored at {store_ms}, before the message in front of it, {self.log.last_ms}"
            self.findings.note(Kind.LOG_TIME, COMMIT_LOG, text, position)
        self.log.add(position, size, store_ms)
        if position % self.row.file_bytes == 0:
            self._begins.append((position, store_ms))
        mark = self._mark
        if position == mark.record_start and position + size == mark.position:
            self._mark_seen = store_ms == mark.store_timestamp_ms
        queue = self._expectation.queue(entry)
        if queue is not None:
            due = (position, size, int(entry.tags_code))
            self.queues.see(queue, int(entry.queue_offset), due)
        elif gone := self._expectation.deleted_queue(entry):
            self.queues.see_deleted(gone, int(entry.queue_offset), (position, size))
        if self._has_index:
            hashes = self._expectation.hashes(entry)
            if hashes:
                self.index.see(hashes, position, store_ms)

    # ------------------------------------------------------------------ judging

    def _is_missing(self) -> bool:
        known = [*witnesses(self._disk, self.index.heads, self.checkpoint, self._mark)]
        self.missing = missing_log(self._disk, self.log_link, known)
        if self.missing:
            self.findings.error(Kind.LOG_MISSING, COMMIT_LOG, self.missing)
        return bool(self.missing)

    def _judge_newest_files(self) -> None:
        """Report missing files: after a clean stop no queue knows messages behind the log's last
        file."""
        known, past = self.queues.known_end, self.row.past
        if known > past and not self.is_crashed:
            self.missing = (
                f"has files up to {past} only, but the queues have messages up to {known}"
            )
            self.findings.error(Kind.FILE_MISSING, COMMIT_LOG, self.missing, past)

    def _judge_break(self, event: Break) -> None:
        if len(self.breaks) == BREAKS_MAX:
            self.breaks.pop()  # so that the last one always is the end
        self.breaks.append(event)
        between = f"{event.end - event.position} bytes from {event.position} to {event.end}"
        match event.cause:
            case Cause.DAMAGE:
                text = f"{between} are no records ({event.reason}), and newer ones follow"
                self.findings.error(Kind.LOG_DAMAGE, COMMIT_LOG, text, event.position)
            case Cause.TORN:
                text = f"the last record is incomplete: {event.reason}"
                self.findings.warn(Kind.LOG_TORN, COMMIT_LOG, text, event.position)
            case Cause.LEFTOVER:
                text = f"the log ends at {event.position}; {between} behind it are unused"
                self.findings.note(Kind.LOG_LEFTOVER, COMMIT_LOG, text, event.position)
            case Cause.END | Cause.MISSING:
                pass  # not a fault, or reported with the files

    def _read_checkpoint(self) -> None:
        try:
            file = self._disk.open(CHECKPOINT)
        except DiskError as error:
            if error.failure is not DiskFailure.NOT_FOUND:
                raise
            return
        size, data = file.size(), file.read(0, checkpoint.NUMBERS.size)
        file.close()
        if size != checkpoint.FILE_BYTES:
            self.findings.warn(Kind.CHECKPOINT, CHECKPOINT, f"has {size} bytes, not 4096")
        if any(number < 0 for number in _numbers(data)):
            self.findings.warn(Kind.CHECKPOINT, CHECKPOINT, f"no times: {_numbers(data)}")
        self.checkpoint = checkpoint.decode(data)

    def _judge_checkpoint(self) -> None:
        if CHECKPOINT not in self.vouchers and self.log.records:
            text = "is missing: after a crash recovery reads the whole log"
            self.findings.note(Kind.CHECKPOINT, CHECKPOINT, text)
        if self.checkpoint.log_ms > self.log.last_ms:
            text = (
                f"has the log time {self.checkpoint.log_ms}, but the log ends at {self.log.last_ms}"
            )
            self.findings.warn(Kind.CHECKPOINT, CHECKPOINT, f"{text}: records may be lost")

    def _judge_marks(self) -> None:
        end, mark = self._log_end(), self._mark
        if mark.position > end:
            text = f"the log was on disk up to {mark.position}, but ends at {end}"
            self.findings.error(Kind.LOG_LOST, MARKS_PATH, text, end)
        elif mark != LogPosition() and not self._mark_seen and mark.position > self.row.first:
            text = f"no record ends at position {mark.position}: another broker has written since"
            self.findings.note(Kind.MARKS, MARKS_PATH, text, mark.position)


def _exists(disk: Disk, path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return any(each.name == name for each in disk.list(folder))


def _numbers(data: bytes) -> tuple[int, ...]:
    return checkpoint.NUMBERS.unpack(data.ljust(checkpoint.NUMBERS.size, b"\0"))
