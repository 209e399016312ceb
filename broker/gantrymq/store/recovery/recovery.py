"""Brings log, consume queues and index to a consistent state when a store starts.

    0 truncation   log_truncation.py: carry out a truncation of the log that was requested
    1 start        recovery_start.py: choose the start by our flush positions, else by Java's rules
    2 walk         check and dispatch every record from there; the walk stops at the log's end
    3 cut          remove what lies behind the end from log, queues and index; write again and sync
                   the records above the log's flush position
    4 rebuild      rebuild from the log: queues that are damaged, miss units, or began anew with a
                   message that is gone; an index that was cut; what the copy of the producer
                   sessions lacks

Invariant: recovery may stop anywhere and can be repeated. Flush positions are lowered, and synced,
before anything below them is cut. Nothing is cut below the log's flush position: recovery refuses
damage there, because a cut would lose messages that were promised to be on disk.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, final

from gantrymq.base.disk import Background, Disk, DiskError
from gantrymq.store.commitlog import log_truncation
from gantrymq.store.commitlog.commitlog import CommitLog
from gantrymq.store.commitlog.log_entries import EntryReader
from gantrymq.store.commitlog.log_walk import LogWalk
from gantrymq.store.commitlog.recovery_start import (
    Start,
    are_valid,
    record_at,
    start_after_java,
    start_after_javas_crash,
    start_by_flush_positions,
)
from gantrymq.store.consumequeue import queue_snapshot
from gantrymq.store.consumequeue.queue_flush import UNWRITTEN_BYTES_MAX
from gantrymq.store.consumequeue.queue_folder import AfterCrash
from gantrymq.store.consumequeue.queue_snapshot import TopicState
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.store.dispatch.deletions import Deletions
from gantrymq.store.dispatch.dispatch import Dispatcher
from gantrymq.store.files.checkpoint import CheckpointFile
from gantrymq.store.files.flush_positions import (
    VOID,
    FlushPositions,
    FlushPositionsFile,
    LogPosition,
)
from gantrymq.store.index.index import Index
from gantrymq.store.index.index_flush import IndexFlush
from gantrymq.store.layout import POSITION_MAX, StoreRefusedError
from gantrymq.store.progress import Progress, ProgressTask
from gantrymq.store.record.delay_levels import DelayLevels
from gantrymq.store.record.dispatch_entry import DispatchEntry
from gantrymq.store.recovery.misplaced_records import TailOrder
from gantrymq.store.sessions.recall import Recall
from gantrymq.store.sessions.snapshot import SnapshotWriter
from gantrymq.store.sessions.table import ProducerSessions
from gantrymq.store.settings import StoreSettings
from gantrymq.wire import java_string

QUEUES_A_STEP: Final = 256

# Each file has up to 20 MB of slots in memory until it is flushed.
INDEX_FILES_MAX: Final = 2


@final
@dataclass(slots=True)
class Report:
    """What recovery found and did, to be logged by the process."""

    is_clean: bool
    is_marked: bool = False
    """Our flush positions are valid; otherwise Java wrote the directory last."""
    is_changed: bool = False
    """Recovery has reached the point from which it changes files."""
    was_truncated: bool = False
    """The log was truncated because the replica group continues with another member's log."""
    kept_tail: str = ""
    """The path of the truncated tail, or ""."""
    removed_tails: list[str] = field(default_factory=list)
    """The paths of older truncated tails that were deleted to make room."""
    walked_bytes: int = 0
    rewritten_bytes: int = 0
    end_reason: str = ""
    """What lies behind the log's end, if not the zeros of a new file."""
    rebuilt_queues: list[str] = field(default_factory=list)
    rebuilt_index_from: int = -1


@final
@dataclass(frozen=True, slots=True)
class Parts:
    """The objects that recovery works on. They are created, but not loaded."""

    disk: Disk
    background: Background
    log: CommitLog
    flush_positions: FlushPositionsFile
    queues: Queues
    index: Index
    dispatcher: Dispatcher
    deletions: Deletions
    levels: DelayLevels
    sessions: ProducerSessions
    session_copies: SnapshotWriter


@final
class Recovery:
    """One run of recovery: `run` does the work, `report` describes it."""

    __slots__ = (
        "_begun_anew",
        "_checkpoint",
        "_is_ours",
        "_keys_from",
        "_missing",
        "_parts",
        "_promised",
        "_queues_found",
        "_queues_from",
        "_settings",
        "report",
    )

    def __init__(
        self, parts: Parts, settings: StoreSettings, checkpoint: CheckpointFile, *, is_clean: bool
    ) -> None:
        self._parts = parts
        self._settings = settings
        self._checkpoint = checkpoint.saved
        self._is_ours = checkpoint.is_ours
        self._queues_from = 0
        self._keys_from = 0
        self._queues_found = 0
        self._promised = 0
        self._missing: set[tuple[str, int]] = set()
        self._begun_anew: dict[tuple[str, int], int] = {}
        self.report = Report(is_clean)

    @property
    def _has_all_notes(self) -> bool:
        """Whether all queues that began anew are known, from notes or from a walk over the whole
        log."""
        walks_all = not self.report.is_clean and self._queues_from <= self._parts.log.start
        return self._parts.dispatcher.replaced.is_whole or walks_all

    @property
    def _is_indexed(self) -> bool:
        return self._settings.message_index_enable

    def run(self) -> ProgressTask[None]:
        """Run all stages. StoreRefusedError if the directory must not be changed."""
        parts = self._parts
        log = parts.log
        log.load(is_size_known=parts.flush_positions.are_sizes_known)
        self._place_log()
        yield from self._truncate_as_requested()
        parts.deletions.load(is_clean=self.report.is_clean)
        parts.dispatcher.replaced.load()
        positions = parts.flush_positions.latest
        if self._is_ours and positions is not None and are_valid(positions, log.segments):
            start = yield from self._ours(positions)
        else:
            start = yield from self._javas()
        has_all_notes = self._has_all_notes
        parts.deletions.remove_queues()
        parts.queues.log_flushed = start.flushed if self.report.is_marked else POSITION_MAX
        reader = self._reader(verify_body=self._settings.check_crc_on_recover)
        walk = LogWalk(log.segments, reader, start.walk, flushed=start.torn_from)
        yield from self._dispatch(walk, start.torn_from)
        self._check_end(walk, start)
        self._cut(walk.mark, start)
        yield from self._dispatch_again()
        yield from self._recall_sessions(start.walk.position)
        self._settle()
        if has_all_notes:
            parts.dispatcher.replaced.settle(log.start, log.end, self._begun_anew)

    def _place_log(self) -> None:
        """Place a log without a file where the flush positions say that it is empty. Its files are
        missing because a start emptied it and ended before a record was written, or because the
        disk is full."""
        log, positions = self._parts.log, self._parts.flush_positions.latest
        if not self._is_ours or positions is None or log.segments.past > log.start:
            return
        position = positions.log.position
        if positions.log == LogPosition(position) and position == log.segments.start_of(position):
            log.begin(position)

    def _truncate_as_requested(self) -> ProgressTask[None]:
        """Carry out a truncation request: the replica group continues with another log."""
        parts = self._parts
        request = log_truncation.requested(parts.disk)
        if request is None:
            return
        self.report.is_clean = False
        self.report.is_changed = self.report.was_truncated = True
        reader = self._reader(verify_body=False)
        bytes_max = self._settings.kept_tails_bytes_max
        truncation = log_truncation.LogTruncation(
            parts.disk, parts.log.segments, parts.flush_positions, reader, request, bytes_max
        )
        yield from truncation.run()
        if truncation.leaves_nothing:
            self._clear()
        truncation.end()
        self.report.kept_tail = truncation.kept_tail
        self.report.removed_tails = [tail.path for tail in truncation.removed_tails]

    def _clear(self) -> None:
        """Remove all queues and keys, because the log has no record any more."""
        parts = self._parts
        start = parts.log.start
        parts.queues.load(start, self._crash(start))
        parts.queues.clear_all()
        parts.index.load(is_clean=False, flushed_ms=-1)
        parts.index.clear()

    # ------------------------------------------------------------------ 1 start

    def _ours(self, positions: FlushPositions) -> ProgressTask[Start]:
        """Choose the start for a directory that Gantry wrote last."""
        report = self.report
        report.is_marked = True
        behind = {positions.queues}
        if self._is_indexed:
            behind.add(positions.index)
        is_known = self._parts.dispatcher.replaced.is_whole
        report.is_clean &= is_known and behind == {positions.log.position}
        first = self._parts.log.start
        self._queues_from = max(first, positions.queues)
        if report.is_clean:
            yield from self._load_queues(None, positions)
        else:
            yield from self._load_queues(self._queues_from, positions)
        index = self._parts.index
        index.load(
            is_clean=report.is_clean,
            flushed_ms=0,
            trusts_headers=True,
            on_loss=self._expect_keys,
        )
        index_from = max(first, positions.index)
        if index.was_cut or len(index.files) < positions.index_files:
            # Keys of the newest record may have been in a file that is gone: enter them again.
            index_from = max(first, index.end_offset)
            self._expect_keys()
        self._enter_from(index_from, is_rebuilt=index_from < positions.index)
        redone_from = min(self._queues_from, index_from) if self._is_indexed else self._queues_from
        return start_by_flush_positions(positions, first, redone_from)

    def _javas(self) -> ProgressTask[Start]:
        """Choose the start for a directory that Java wrote last, or may have written last."""
        log = self._parts.log
        segments = log.segments
        if self.report.is_clean:
            yield from self._load_queues(None)
            known = max([queue.physical_end for queue in self._parts.queues.opened()], default=0)
            self._refuse_short_log(known)
            self._promised = known
            start = start_after_java(segments, known)
        else:
            safe = self._settings.message_index_safe
            start = start_after_javas_crash(segments, self._checkpoint, safe=safe)
            yield from self._load_queues(start.walk.position)
            self._refuse_short_log(int(self._parts.queues.count > 0))
        self._queues_from = start.walk.position
        index = self._parts.index
        index.load(is_clean=self.report.is_clean, flushed_ms=self._checkpoint.index_ms)
        # Java may have been killed while it entered a record, so its keys are entered again.
        # And the index's flush position must be the start of a record.
        index_from = max(log.start, index.end_offset)
        is_rebuilt = index.was_cut or not index.files
        self._enter_from(index_from, is_rebuilt=is_rebuilt)
        if is_rebuilt and self._is_indexed and index_from < start.walk.position:
            start = replace(start, walk=LogPosition(index_from))
        return start

    def _refuse_short_log(self, known: int) -> None:
        """Refuse if the queues know records behind the log's last file: its disk may not be
        mounted."""
        segments = self._parts.log.segments
        if known > segments.past:
            raise StoreRefusedError(
                f"{segments.folder} has files up to {segments.past} only, but messages behind "
                "were on disk; mount the log's disk, or restore its files. To give up what is "
                "missing: gantry store repair"
            )

    def _enter_from(self, position: int, *, is_rebuilt: bool) -> None:
        """Enter the keys of records from this position on."""
        self._keys_from = self._parts.dispatcher.index_from = position
        if is_rebuilt and self._is_indexed:
            self.report.rebuilt_index_from = position

    def _load_queues(
        self, synced_offset: int | None, positions: FlushPositions | None = None
    ) -> ProgressTask[None]:
        """Open all queues. After a crash, only units of records below `synced_offset` are trusted.

        The whole log is dispatched again if queues are missing that the flush positions counted, or
        if after a crash it is not known which queues began anew.
        """
        queues = self._parts.queues
        first = self._parts.log.start
        if synced_offset is None:
            snapshot = None if positions is None else self._snapshot(positions)
            self._missing = set(queues.load(first, None, snapshot))
        else:
            queues.load(first, self._crash(synced_offset))
        is_short = (
            positions is not None and queues.count + len(self._missing) < positions.queue_count
        )
        is_unknown = synced_offset is not None and not self._parts.dispatcher.replaced.is_whole
        if is_short or (is_unknown and positions is not None):
            self._queues_from = first
            self._expect_rebuild()
            if synced_offset is not None:
                queues.distrust(self._crash(first))
        self._queues_found = total = queues.count
        while left := queues.open_some(QUEUES_A_STEP, self._expect_rebuild):
            yield Progress("queues", total - left, total)

    def _expect_rebuild(self) -> None:
        """Save a lower position of the queues in the flush positions. A queue is damaged, or all
        queues are rebuilt from the log's start, and the next start must know that too if this one
        does not finish."""
        positions = self._parts.flush_positions.latest
        first = self._parts.log.start
        if positions is not None and positions.queues > first:
            self._parts.flush_positions.settle(replace(positions, queues=first))

    def _expect_keys(self) -> None:
        """Save a lower position of the index in the flush positions. Keys behind those of the
        remaining files are missing, and new files are incomplete until all keys are entered again.
        The next start must know that too if this one does not finish."""
        positions = self._parts.flush_positions.latest
        index = max(self._parts.log.start, self._parts.index.end_offset)
        if positions is not None and positions.index > index:
            self._parts.flush_positions.settle(replace(positions, index=index))

    def _crash(self, synced_offset: int) -> AfterCrash:
        return AfterCrash(
            synced_offset,
            self._confirms,
            is_ours=self.report.is_marked,
            is_size_known=self._parts.flush_positions.are_sizes_known,
        )

    def _snapshot(self, positions: FlushPositions) -> Sequence[TopicState] | None:
        """The state of the queues that a clean stop of ours saved, unless files have changed
        since."""
        parts = self._parts
        file_bytes = parts.queues.file_bytes
        now = queue_snapshot.stamp(parts.disk, parts.log.start, positions.log.position, file_bytes)
        return queue_snapshot.take(parts.disk, now)

    def _reader(self, *, verify_body: bool) -> EntryReader:
        segments = self._parts.log.segments
        return EntryReader(segments.file_bytes, self._parts.levels, verify_body=verify_body)

    def _confirms(
        self, topic: str, queue_id: int, offset: int, physical_offset: int, size: int
    ) -> bool:
        """Whether the log has this message. A message below the log's start is trusted."""
        segments = self._parts.log.segments
        if physical_offset < segments.first:
            return True
        step = record_at(segments, physical_offset)
        if step is None or step.record is None or step.size != size:
            return False
        record = step.record
        found = (java_string.utf8_text(record.topic), record.queue_id, record.queue_offset)
        return found == (topic, queue_id, offset)

    # ------------------------------------------------------------------ 2 walk

    def _dispatch(self, walk: LogWalk, torn_from: int) -> ProgressTask[None]:
        dispatcher = self._parts.dispatcher
        start, past = walk.position, self._parts.log.segments.past
        log_end: int | None = None
        for entries in walk.chunks():
            flushed = _count_below(torn_from, entries)
            dispatcher.dispatch(entries[:flushed])
            if log_end is None and flushed < len(entries):
                log_end = self._ordered_end(entries[flushed], torn_from)
            sound = flushed if log_end is None else _count_below(log_end, entries)
            dispatcher.dispatch(entries[flushed:sound])
            if sound < len(entries):
                walk.end_before(entries, sound, "it is not the next record of its queue")
            self._relieve()
            yield Progress("log", walk.position - start, past - start)
        self.report.walked_bytes = walk.mark.position - start

    def _ordered_end(self, first: DispatchEntry, torn_from: int) -> int:
        """The position at which the log must end, so that each record from `first` on continues its
        queue."""
        segments = self._parts.log.segments
        reader = self._reader(verify_body=self._settings.check_crc_on_recover)
        walk = LogWalk(segments, reader, LogPosition(int(first.physical_offset)), flushed=torn_from)
        order = TailOrder(self._parts.queues, segments, self._reader(verify_body=False))
        end = order.end(chain.from_iterable(walk.chunks()))
        self._parts.dispatcher.gaps |= order.short  # the record that would reveal it may be cut off
        return end

    def _relieve(self) -> None:
        """Write units and keys to the files before they take too much memory."""
        queues, index = self._parts.queues, self._parts.index
        index.write_entries()
        if len(index.unsafe()) > INDEX_FILES_MAX:
            mark = self._parts.dispatcher.mark
            IndexFlush(index, self._parts.background, 0.0, mark).flush(mark)
        if queues.unwritten_bytes > UNWRITTEN_BYTES_MAX:
            try:
                queues.write_down_to(UNWRITTEN_BYTES_MAX // 2)
            except DiskError:
                return  # they are written when there is space again

    def _check_end(self, walk: LogWalk, start: Start) -> None:
        """Refuse a log that ends before a record that was promised to be on disk."""
        end = walk.mark.position
        positions = self._parts.flush_positions.latest
        promised = max(self._promised, positions.log.position if positions is not None else 0)
        segments = self._parts.log.segments
        if self.report.is_clean and not self.report.is_marked:
            promised = max(promised, self._later_record(end))
        if end < promised:
            raise self._damaged_at(walk, promised)
        self.report.end_reason = "" if end >= segments.past else _why(walk)

    def _damaged_at(self, walk: LogWalk, promised: int) -> StoreRefusedError:
        segments, end = self._parts.log.segments, walk.mark.position
        return StoreRefusedError(
            f"{segments.folder} is damaged at {end} ({segments.path_of(end)}): {_why(walk)}, but "
            f"messages up to {promised} were on disk; restore the file from a copy, or give "
            "up what lies behind: gantry store repair"
        )

    def _later_record(self, end: int) -> int:
        """The start of a later file that begins with a record, or 0."""
        segments = self._parts.log.segments
        position = segments.start_of(end) + segments.file_bytes
        while position < segments.past:
            step = record_at(segments, position)
            if step is not None and step.record is not None:
                return position
            position += segments.file_bytes
        return 0

    # ------------------------------------------------------------------ 3 the cut

    def _cut(self, end: LogPosition, start: Start) -> None:
        """End log and queues at `end`, and sync that."""
        parts = self._parts
        segments = parts.log.segments
        self.report.is_changed = True
        is_untouched = self.report.is_clean and self.report.is_marked
        if not is_untouched or end != start.walk:
            positions = parts.flush_positions.latest
            if not self.report.is_marked or positions is None:
                parts.flush_positions.settle(VOID)
            segments.truncate(end.position)
            flushed = min(start.flushed, end.position)
            segments.rewrite(flushed, end.position)
            self.report.rewritten_bytes = end.position - flushed
        parts.log.resume(end)
        parts.deletions.settle()
        parts.queues.cut_to_log(end.position)
        parts.dispatcher.start_at(end)

    # ------------------------------------------------------------------ 4 rebuild

    def _dispatch_again(self) -> ProgressTask[None]:
        """Rebuild damaged queues from the log, and enter keys again if the index had to be cut."""
        parts = self._parts
        dispatcher, queues, log = parts.dispatcher, parts.queues, parts.log
        broken = {(queue.topic, queue.queue_id) for queue in queues.faults}
        broken |= self._missing | dispatcher.gaps.keys() | dispatcher.replaced.behind(log.end)
        keys_from = log.end
        if parts.index.cut(log.end, self._expect_keys):
            keys_from = max(log.start, parts.index.end_offset)
            self._enter_from(keys_from, is_rebuilt=True)
        if not broken and keys_from >= log.end:
            return
        self._begin_anew(broken)
        walk = LogWalk(log.segments, self._reader(verify_body=False), LogPosition(log.start))
        for entries in walk.chunks():
            for entry in entries:
                topic = java_string.utf8_text(entry.topic)
                if entry.has_unit and (topic, entry.queue_id) in broken:
                    self._unit_again(entry, topic)
                if entry.physical_offset >= keys_from:
                    dispatcher.keys(entry)
            self._relieve()
            yield Progress("rebuild", walk.position - log.start, log.end - log.start)
        if walk.position < log.end:
            raise self._damaged_at(walk, log.end)

    def _recall_sessions(self, dispatched_from: int) -> ProgressTask[None]:
        """Load the state of the producer sessions, and save a copy of it before sessions are
        served."""
        parts = self._parts
        reader = self._reader(verify_body=False)
        recall = Recall(parts.disk, parts.log, reader, parts.sessions)
        yield from recall.run(dispatched_from, is_ours=self.report.is_marked)
        parts.session_copies.save(parts.log.end, is_start=True)

    def _unit_again(self, entry: DispatchEntry, topic: str) -> None:
        """Add a unit to a queue that is rebuilt. If the log lacks the records before it, the queue
        began anew here: this log is a copy of one whose topic was deleted and created again."""
        parts = self._parts
        parts.dispatcher.unit(entry)
        if parts.dispatcher.gaps:
            parts.dispatcher.gaps.clear()
            self._begun_anew[topic, entry.queue_id] = int(entry.physical_offset)
            queue = parts.queues.find(topic, entry.queue_id)
            assert queue is not None
            parts.queues.clear(queue)
            parts.dispatcher.unit(entry)

    def _begin_anew(self, broken: set[tuple[str, int]]) -> None:
        """Empty these queues. If this start does not finish, the next one rebuilds them again."""
        parts = self._parts
        positions = parts.flush_positions.latest
        assert positions is not None
        if broken:
            self._queues_from = parts.log.start
            parts.flush_positions.settle(
                replace(positions, queues=min(positions.queues, self._queues_from))
            )
        for topic, queue_id in sorted(broken):
            queue = parts.queues.find(topic, queue_id)
            if queue is not None:
                parts.queues.clear(queue)
            self.report.rebuilt_queues.append(f"{topic}/{queue_id}")
        parts.dispatcher.gaps.clear()

    def _settle(self) -> None:
        """Save flush positions that describe the recovered log."""
        parts = self._parts
        end = parts.log.end
        queues, index = min(self._queues_from, end), min(self._keys_from, end)
        before = parts.flush_positions.latest
        assert before is not None
        queue_count = before.queue_count if self.report.is_marked else self._queues_found
        queue_count = queue_count if queues >= before.queues else 0
        index_files = sum([file.saved_count > 1 for file in parts.index.files])
        parts.flush_positions.settle(
            FlushPositions(parts.log.mark, queues, index, queue_count, index_files)
        )


def _why(walk: LogWalk) -> str:
    """Why the walk stopped where it did."""
    return walk.stop.reason if walk.stop else "no file begins there"


def _count_below(position: int, entries: Sequence[DispatchEntry]) -> int:
    return bisect_left(entries, position, key=lambda each: int(each.physical_offset))
