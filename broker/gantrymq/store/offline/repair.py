"""Carries out a repair plan. The caller must hold the store's lock.

What is removed is kept in the side folder under its path: files and folders by their names, the end
of a file as <path>.from<offset>. Only units of queues that are cut are not kept: they can be
derived from the part of the log that is.

Invariant: a repair may stop anywhere and can be repeated. While it works the abort file exists, and
the files that a start trusts were moved aside before: a broker started in between would read the
whole log, and add what is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.disk import Background, Disk, DiskError, DiskFailure
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.store.consumequeue.replaced_queues import ReplacedQueues
from gantrymq.store.dispatch.dispatch import Dispatcher
from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.index.index import Index
from gantrymq.store.index.index_flush import IndexFlush
from gantrymq.store.layout import ABORT, COMMIT_LOG
from gantrymq.store.offline.expectation import Expectation
from gantrymq.store.offline.file_row import FileRow, read_row
from gantrymq.store.offline.finding import Findings
from gantrymq.store.offline.log_reader import LogReader
from gantrymq.store.offline.repair_plan import Action, RepairPlan, RepairStep
from gantrymq.store.offline.store_sizes import StoreSizes
from gantrymq.store.progress import Progress, ProgressTask
from gantrymq.store.record.delay_levels import DelayLevels
from gantrymq.store.record.dispatch_entry import DispatchEntry
from gantrymq.store.sessions.table import ProducerSessions
from gantrymq.store.settings import StoreSettings

COPY_BYTES: Final = 1 << 20
RECORDS_A_STEP: Final = 4096

# Bounds the memory for units and slots until they are written.
UNITS_BYTES_MAX: Final = 16 << 20
RECORDS_A_FLUSH: Final = 1 << 20


@final
@dataclass(frozen=True, slots=True)
class Tools:
    """What a repair works with. `side` is the folder, below the store's, for what is removed."""

    disk: Disk
    background: Background
    sizes: StoreSizes
    levels: DelayLevels
    side: str
    new_index_name: Callable[[], str]


def carry_out(plan: RepairPlan, tools: Tools) -> ProgressTask[None]:
    """Carry out the whole plan; the store is consistent again when the iterator is exhausted."""
    disk = tools.disk
    was_aborted = _exists(disk, ABORT)
    if not was_aborted:
        disk.create(ABORT).close()
        disk.sync_folder("")
    for number, step in enumerate(plan.steps):
        yield Progress("files", number, len(plan.steps))
        _on_files(step, tools)
    yield from _Derived(plan, tools).make()
    if not was_aborted:
        disk.remove(ABORT)
        disk.sync_folder("")


def _on_files(step: RepairStep, tools: Tools) -> None:
    """Do the part of a step that concerns whole files."""
    match step.action:
        case Action.MOVE | Action.REBUILD_QUEUE | Action.REBUILD_INDEX:
            _move(tools.disk, step.path, tools.side)
        case Action.EXTEND:
            _resize(tools.disk, step.path, step.amount)
        case Action.CUT:
            _cut(tools.disk, step.path, step.amount, tools)
        case Action.CUT_QUEUES:
            pass  # `_Derived` cuts them


def _move(disk: Disk, path: str, side: str) -> None:
    target = f"{side}/{path}"
    _make_folder(disk, target.rpartition("/")[0])
    try:
        disk.rename(path, target)
    except DiskError as error:
        if error.failure is not DiskFailure.NOT_FOUND:
            raise
        return  # the queue or index did not exist
    disk.sync_folder(target.rpartition("/")[0])
    disk.sync_folder(path.rpartition("/")[0])


def _resize(disk: Disk, path: str, *sizes: int) -> None:
    file = disk.open(path)
    for size in sizes:
        file.resize(size)
    file.sync()
    file.close()


def _cut(disk: Disk, path: str, offset: int, tools: Tools) -> None:
    """Save what lies behind `offset`, then zero it, up to the length of a log file."""
    target = f"{tools.side}/{path}.from{offset}"
    _make_folder(disk, target.rpartition("/")[0])
    file, copy = disk.open(path), disk.create(target)
    size = file.size()
    for position in range(offset, size, COPY_BYTES):
        data = file.read(position, min(COPY_BYTES, size - position))
        if data.count(0) != len(data):
            copy.write(position - offset, [data])
    copy.sync()
    copy.close()
    file.close()
    disk.sync_folder(target.rpartition("/")[0])
    _resize(disk, path, offset, tools.sizes.log_bytes)


def _make_folder(disk: Disk, folder: str) -> None:
    disk.make_folder(folder)
    while folder:
        folder = folder.rpartition("/")[0]
        disk.sync_folder(folder)


def _exists(disk: Disk, name: str) -> bool:
    return any(each.name == name for each in disk.list(""))


@final
class _Derived:
    """Rebuilds queues and index as far as the plan says."""

    __slots__ = (
        "_actions",
        "_dispatcher",
        "_expectation",
        "_flush",
        "_index",
        "_plan",
        "_queues",
        "_row",
        "_tools",
    )

    def __init__(self, plan: RepairPlan, tools: Tools) -> None:
        sizes = tools.sizes
        self._plan = plan
        self._tools = tools
        self._actions = {step.action for step in plan.steps}
        self._row: FileRow = read_row(tools.disk, COMMIT_LOG, sizes.log_bytes, Findings())
        self._queues = Queues(tools.disk, sizes.queue_bytes)
        self._index = Index(tools.disk, sizes.index, tools.new_index_name)
        self._flush = IndexFlush(self._index, tools.background, 0.0, LogPosition())
        replaced, sessions = ReplacedQueues(tools.disk), ProducerSessions.of(StoreSettings())
        self._dispatcher = Dispatcher(self._queues, self._index, replaced, sessions)
        self._expectation = Expectation(tools.disk, sizes.index, plan.begun_anew)

    def make(self) -> ProgressTask[None]:
        wanted = {step.queue for step in self._plan.steps if step.queue is not None}
        has_index = Action.REBUILD_INDEX in self._actions
        if wanted or Action.CUT_QUEUES in self._actions:
            self._queues.load(self._row.first)
            self._queues.open_some(self._queues.count)
            self._queues.cut_to_log(self._plan.log_end)
        if has_index:
            self._index.load(is_clean=True, flushed_ms=0)
        if wanted or has_index:
            yield from self._dispatch(wanted, has_index=has_index)
        self._queues.sync_all()
        self._queues.close()
        self._index.close()

    def _dispatch(self, wanted: set[tuple[str, int]], *, has_index: bool) -> ProgressTask[None]:
        """Dispatch the whole log again, for those queues and the index."""
        reader = LogReader(self._tools.disk, self._row, self._tools.levels)
        last = LogPosition()
        for count, event in enumerate(reader.events(), 1):
            if not isinstance(event, DispatchEntry):
                continue
            if event.physical_offset >= self._plan.log_end:
                break
            if self._expectation.queue(event) in wanted:
                self._dispatcher.unit(event)
            if has_index:
                self._dispatcher.keys(event)
            position = int(event.physical_offset)
            last = LogPosition(position + int(event.size), position)
            if count % RECORDS_A_STEP == 0:
                self._queues.write_down_to(UNITS_BYTES_MAX)
                self._index.write_entries()
                yield Progress("log", position - self._row.first, self._row.past - self._row.first)
            if has_index and count % RECORDS_A_FLUSH == 0:
                self._flush_index(last)
        reader.close()
        if has_index:
            self._flush_index(last)

    def _flush_index(self, last: LogPosition) -> None:
        self._flush.flush(last)
        if self._index.failure is not None:
            raise self._index.failure
