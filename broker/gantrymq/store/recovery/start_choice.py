"""Chooses where recovery starts to walk the log, and opens queues and index for it.

The start is chosen by our flush positions, or by Java's rules if Java wrote the directory last
(recovery_start.py). What must be dispatched or entered again is noted in the `RecoveryState`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, final

from gantrymq.store.commitlog.recovery_start import (
    Start,
    start_after_java,
    start_after_javas_crash,
    start_by_flush_positions,
)
from gantrymq.store.consumequeue import queue_snapshot
from gantrymq.store.consumequeue.queue_snapshot import TopicState
from gantrymq.store.files.checkpoint import Checkpoint
from gantrymq.store.files.flush_positions import FlushPositions, LogPosition
from gantrymq.store.layout import StoreRefusedError
from gantrymq.store.progress import Progress, ProgressTask
from gantrymq.store.recovery.recovery_state import RecoveryState

QUEUES_A_STEP: Final = 256


@final
class StartChoice:
    """The first stage of one recovery, which owns it."""

    __slots__ = ("_parts", "_settings", "_state")

    def __init__(self, state: RecoveryState) -> None:
        self._parts = state.parts
        self._settings = state.settings
        self._state = state

    def by_flush_positions(self, positions: FlushPositions) -> ProgressTask[Start]:
        """Choose the start for a directory that Gantry wrote last."""
        report = self._state.report
        report.is_marked = True
        behind = {positions.queues}
        if self._state.is_indexed:
            behind.add(positions.index)
        is_known = self._parts.dispatcher.replaced.is_whole
        report.is_clean &= is_known and behind == {positions.log.position}
        first = self._parts.log.start
        self._state.queues_from = max(first, positions.queues)
        if report.is_clean:
            yield from self._load_queues(None, positions)
        else:
            yield from self._load_queues(self._state.queues_from, positions)
        index = self._parts.index
        index.load(
            is_clean=report.is_clean,
            flushed_ms=0,
            trusts_headers=True,
            on_loss=self._state.expect_keys,
        )
        index_from = max(first, positions.index)
        if index.was_cut or len(index.files) < positions.index_files:
            # Keys of the newest record may have been in a file that is gone: enter them again.
            index_from = max(first, index.end_offset)
            self._state.expect_keys()
        self._state.enter_from(index_from, is_rebuilt=index_from < positions.index)
        redone_from = (
            min(self._state.queues_from, index_from)
            if self._state.is_indexed
            else self._state.queues_from
        )
        return start_by_flush_positions(positions, first, redone_from)

    def by_javas_rules(self, checkpoint: Checkpoint) -> ProgressTask[Start]:
        """Choose the start for a directory that Java wrote last, or may have written last."""
        log = self._parts.log
        segments = log.segments
        if self._state.report.is_clean:
            yield from self._load_queues(None)
            known = max([queue.physical_end for queue in self._parts.queues.opened()], default=0)
            self._refuse_short_log(known)
            self._state.promised = known
            start = start_after_java(segments, known)
        else:
            safe = self._settings.message_index_safe
            start = start_after_javas_crash(segments, checkpoint, safe=safe)
            yield from self._load_queues(start.walk.position)
            self._refuse_short_log(int(self._parts.queues.count > 0))
        self._state.queues_from = start.walk.position
        index = self._parts.index
        index.load(is_clean=self._state.report.is_clean, flushed_ms=checkpoint.index_ms)
        # Java may have been killed while it entered a record, so its keys are entered again.
        # And the index's flush position must be the start of a record.
        index_from = max(log.start, index.end_offset)
        is_rebuilt = index.was_cut or not index.files
        self._state.enter_from(index_from, is_rebuilt=is_rebuilt)
        if is_rebuilt and self._state.is_indexed and index_from < start.walk.position:
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
            self._state.missing = set(queues.load(first, None, snapshot))
        else:
            queues.load(first, self._state.crash(synced_offset))
        is_short = (
            positions is not None
            and queues.count + len(self._state.missing) < positions.queue_count
        )
        is_unknown = synced_offset is not None and not self._parts.dispatcher.replaced.is_whole
        if is_short or (is_unknown and positions is not None):
            self._state.queues_from = first
            self._state.expect_rebuild()
            if synced_offset is not None:
                queues.distrust(self._state.crash(first))
        self._state.queues_found = total = queues.count
        while left := queues.open_some(QUEUES_A_STEP, self._state.expect_rebuild):
            yield Progress("queues", total - left, total)

    def _snapshot(self, positions: FlushPositions) -> Sequence[TopicState] | None:
        """The state of the queues that a clean stop of ours saved, unless files have changed
        since."""
        parts = self._parts
        file_bytes = parts.queues.file_bytes
        now = queue_snapshot.stamp(parts.disk, parts.log.start, positions.log.position, file_bytes)
        return queue_snapshot.take(parts.disk, now)
