"""Holds what the stages of one recovery share: its parts, its report, and what a stage found.

Invariant: flush positions are lowered, and synced, before the files that they describe lose units
or keys. The next start then rebuilds them too, if this one does not finish.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, final

from gantrymq.base.disk import Background, Disk, DiskError
from gantrymq.store.commitlog.commitlog import CommitLog
from gantrymq.store.commitlog.log_entries import EntryReader
from gantrymq.store.commitlog.log_walk import LogWalk
from gantrymq.store.commitlog.recovery_start import record_at
from gantrymq.store.consumequeue.queue_flush import UNWRITTEN_BYTES_MAX
from gantrymq.store.consumequeue.queue_folder import AfterCrash
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.store.dispatch.deletions import Deletions
from gantrymq.store.dispatch.dispatch import Dispatcher
from gantrymq.store.files.flush_positions import FlushPositionsFile
from gantrymq.store.files.segments import Segments
from gantrymq.store.index.index import Index
from gantrymq.store.index.index_flush import IndexFlush
from gantrymq.store.layout import StoreRefusedError
from gantrymq.store.record.delay_levels import DelayLevels
from gantrymq.store.sessions.snapshot import SnapshotWriter
from gantrymq.store.sessions.table import ProducerSessions
from gantrymq.store.settings import StoreSettings
from gantrymq.wire import java_string

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
class RecoveryState:
    """The state of one recovery. `Recovery` creates it and passes it to the stages."""

    __slots__ = (
        "begun_anew",
        "keys_from",
        "missing",
        "parts",
        "promised",
        "queues_found",
        "queues_from",
        "report",
        "settings",
    )

    def __init__(self, parts: Parts, settings: StoreSettings, *, is_clean: bool) -> None:
        self.parts = parts
        self.settings = settings
        self.report = Report(is_clean)
        self.queues_from = 0
        """The log position from which on units are dispatched again."""
        self.keys_from = 0
        """The log position from which on keys are entered again."""
        self.queues_found = 0
        self.promised = 0
        """The log position below which the queues know all records."""
        self.missing: set[tuple[str, int]] = set()
        """Queues of the snapshot whose folders were removed."""
        self.begun_anew: dict[tuple[str, int], int] = {}
        """The log positions of the records with which queues began anew."""

    @property
    def is_indexed(self) -> bool:
        return self.settings.message_index_enable

    def enter_from(self, position: int, *, is_rebuilt: bool) -> None:
        """Enter the keys of records from this position on."""
        self.keys_from = self.parts.dispatcher.index_from = position
        if is_rebuilt and self.is_indexed:
            self.report.rebuilt_index_from = position

    def expect_rebuild(self) -> None:
        """Save a lower position of the queues in the flush positions. A queue is damaged, or all
        queues are rebuilt from the log's start, and the next start must know that too if this one
        does not finish."""
        positions = self.parts.flush_positions.latest
        first = self.parts.log.start
        if positions is not None and positions.queues > first:
            self.parts.flush_positions.settle(replace(positions, queues=first))

    def expect_keys(self) -> None:
        """Save a lower position of the index in the flush positions. Keys behind those of the
        remaining files are missing, and new files are incomplete until all keys are entered again.
        The next start must know that too if this one does not finish."""
        positions = self.parts.flush_positions.latest
        index = max(self.parts.log.start, self.parts.index.end_offset)
        if positions is not None and positions.index > index:
            self.parts.flush_positions.settle(replace(positions, index=index))

    def crash(self, synced_offset: int) -> AfterCrash:
        return AfterCrash(
            synced_offset,
            self._confirms,
            is_ours=self.report.is_marked,
            is_size_known=self.parts.flush_positions.are_sizes_known,
        )

    def reader(self, *, verify_body: bool) -> EntryReader:
        segments = self.parts.log.segments
        return EntryReader(segments.file_bytes, self.parts.levels, verify_body=verify_body)

    def relieve(self) -> None:
        """Write units and keys to the files before they take too much memory."""
        queues, index = self.parts.queues, self.parts.index
        index.write_entries()
        if len(index.unsafe()) > INDEX_FILES_MAX:
            mark = self.parts.dispatcher.mark
            IndexFlush(index, self.parts.background, 0.0, mark).flush(mark)
        if queues.unwritten_bytes > UNWRITTEN_BYTES_MAX:
            try:
                queues.write_down_to(UNWRITTEN_BYTES_MAX // 2)
            except DiskError:
                return  # they are written when there is space again

    def _confirms(
        self, topic: str, queue_id: int, offset: int, physical_offset: int, size: int
    ) -> bool:
        """Whether the log has this message. A message below the log's start is trusted."""
        segments = self.parts.log.segments
        if physical_offset < segments.first:
            return True
        item = record_at(segments, physical_offset)
        if item is None or item.record is None or item.size != size:
            return False
        record = item.record
        found = (java_string.utf8_text(record.topic), record.queue_id, record.queue_offset)
        return found == (topic, queue_id, offset)


def damaged_at(segments: Segments, walk: LogWalk, promised: int) -> StoreRefusedError:
    """The refusal of a log that is damaged below a position up to which it was on disk."""
    end = walk.mark.position
    return StoreRefusedError(
        f"{segments.folder} is damaged at {end} ({segments.path_of(end)}): {why_stopped(walk)},"
        f" but messages up to {promised} were on disk; restore the file from a copy, or give "
        "up what lies behind: gantry store repair"
    )


def why_stopped(walk: LogWalk) -> str:
    """Why the walk stopped where it did."""
    return walk.stop.reason if walk.stop else "no file begins there"
