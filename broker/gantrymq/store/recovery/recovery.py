"""Brings log, consume queues and index to a consistent state when a store starts.

    0 truncation   log_truncation.py: carry out a truncation of the log that was requested
    1 start        start_choice.py: choose the start by our flush positions, else by Java's rules
    2 walk         check and dispatch every record from there; the walk stops at the log's end
    3 cut          remove what lies behind the end from log, queues and index; write again and sync
                   the records above the log's flush position
    4 rebuild      rebuild.py: rebuild queues and keys from the log where they are damaged or
                   missing; recall.py: load the producer sessions

Invariant: recovery may stop anywhere and can be repeated. Flush positions are lowered, and synced,
before anything below them is cut. Nothing is cut below the log's flush position: recovery refuses
damage there, because a cut would lose messages that were promised to be on disk.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import chain
from typing import final

from gantrymq.store.commitlog import log_truncation
from gantrymq.store.commitlog.log_walk import LogWalk
from gantrymq.store.commitlog.recovery_start import (
    Start,
    are_valid,
    record_at,
)
from gantrymq.store.files.checkpoint import CheckpointFile
from gantrymq.store.files.flush_positions import (
    VOID,
    FlushPositions,
    LogPosition,
)
from gantrymq.store.layout import POSITION_MAX
from gantrymq.store.progress import Progress, ProgressTask
from gantrymq.store.record.dispatch_entry import DispatchEntry
from gantrymq.store.recovery.misplaced_records import TailOrder
from gantrymq.store.recovery.rebuild import Rebuild
from gantrymq.store.recovery.recovery_state import Parts, RecoveryState, damaged_at, why_stopped
from gantrymq.store.recovery.start_choice import StartChoice
from gantrymq.store.sessions.recall import Recall
from gantrymq.store.settings import StoreSettings


@final
class Recovery:
    """One run of recovery: `run` does the work, `report` describes it."""

    __slots__ = ("_checkpoint", "_is_ours", "_parts", "_settings", "_state", "report")

    def __init__(
        self, parts: Parts, settings: StoreSettings, checkpoint: CheckpointFile, *, is_clean: bool
    ) -> None:
        self._parts = parts
        self._settings = settings
        self._checkpoint = checkpoint.saved
        self._is_ours = checkpoint.is_ours
        self._state = RecoveryState(parts, settings, is_clean=is_clean)
        self.report = self._state.report

    @property
    def _has_all_notes(self) -> bool:
        """Whether all queues that began anew are known, from notes or from a walk over the whole
        log."""
        walks_all = not self.report.is_clean and self._state.queues_from <= self._parts.log.start
        return self._parts.dispatcher.replaced.is_whole or walks_all

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
        choice = StartChoice(self._state)
        if self._is_ours and positions is not None and are_valid(positions, log.segments):
            start = yield from choice.by_flush_positions(positions)
        else:
            start = yield from choice.by_javas_rules(self._checkpoint)
        has_all_notes = self._has_all_notes
        parts.deletions.remove_queues()
        parts.queues.log_flushed = start.flushed if self.report.is_marked else POSITION_MAX
        reader = self._state.reader(verify_body=self._settings.check_crc_on_recover)
        walk = LogWalk(log.segments, reader, start.walk, flushed=start.torn_from)
        yield from self._dispatch(walk, start.torn_from)
        self._check_end(walk, start)
        self._cut(walk.mark, start)
        yield from Rebuild(self._state).run()
        yield from self._load_sessions(start.walk.position)
        self._settle()
        if has_all_notes:
            parts.dispatcher.replaced.settle(log.start, log.end, self._state.begun_anew)

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
        reader = self._state.reader(verify_body=False)
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
        parts.queues.load(start, self._state.crash(start))
        parts.queues.clear_all()
        parts.index.load(is_clean=False, flushed_ms=-1)
        parts.index.clear()

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
            self._state.relieve()
            yield Progress("log", walk.position - start, past - start)
        self.report.walked_bytes = walk.mark.position - start

    def _ordered_end(self, first: DispatchEntry, torn_from: int) -> int:
        """The position at which the log must end, so that each record from `first` on continues its
        queue."""
        segments = self._parts.log.segments
        reader = self._state.reader(verify_body=self._settings.check_crc_on_recover)
        walk = LogWalk(segments, reader, LogPosition(int(first.physical_offset)), flushed=torn_from)
        order = TailOrder(self._parts.queues, segments, self._state.reader(verify_body=False))
        end = order.end(chain.from_iterable(walk.chunks()))
        # The record that would reveal the gap may be cut off.
        self._parts.dispatcher.gaps |= order.short
        return end

    def _check_end(self, walk: LogWalk, start: Start) -> None:
        """Refuse a log that ends before a record that was promised to be on disk."""
        end = walk.mark.position
        positions = self._parts.flush_positions.latest
        promised = max(self._state.promised, positions.log.position if positions is not None else 0)
        segments = self._parts.log.segments
        if self.report.is_clean and not self.report.is_marked:
            promised = max(promised, self._later_record(end))
        if end < promised:
            raise damaged_at(segments, walk, promised)
        self.report.end_reason = "" if end >= segments.past else why_stopped(walk)

    def _later_record(self, end: int) -> int:
        """The start of a later file that begins with a record, or 0."""
        segments = self._parts.log.segments
        position = segments.start_of(end) + segments.file_bytes
        while position < segments.past:
            item = record_at(segments, position)
            if item is not None and item.record is not None:
                return position
            position += segments.file_bytes
        return 0

    # ------------------------------------------------------------------ 3 cut

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

    def _load_sessions(self, dispatched_from: int) -> ProgressTask[None]:
        """Load the state of the producer sessions, and save a copy of it before sessions are
        served."""
        parts = self._parts
        reader = self._state.reader(verify_body=False)
        recall = Recall(parts.disk, parts.log, reader, parts.sessions)
        yield from recall.run(dispatched_from, is_ours=self.report.is_marked)
        parts.session_copies.save(parts.log.end, is_start=True)

    def _settle(self) -> None:
        """Save flush positions that describe the recovered log."""
        parts = self._parts
        end = parts.log.end
        queues, index = min(self._state.queues_from, end), min(self._state.keys_from, end)
        before = parts.flush_positions.latest
        assert before is not None
        queue_count = before.queue_count if self.report.is_marked else self._state.queues_found
        queue_count = queue_count if queues >= before.queues else 0
        index_files = sum([file.saved_count > 1 for file in parts.index.files])
        parts.flush_positions.settle(
            FlushPositions(parts.log.mark, queues, index, queue_count, index_files)
        )


def _count_below(position: int, entries: Sequence[DispatchEntry]) -> int:
    return bisect_left(entries, position, key=lambda each: int(each.physical_offset))
