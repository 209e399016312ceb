"""Stores every message of every queue in one log, in the order of arrival.

    turn      arena = log.start_group(now_ms); arena.add(message) ...; log.write(arena, now)

Invariants. `end` moves only when a whole group is written. A group that failed leaves the log as it
was; before anything else is written in its place it is erased and the erasure is synced, so that
recovery cannot find refused messages behind accepted ones. Bytes below `end` never change. Store
timestamps never decrease. Nothing is written without reserved space, and nothing above `end` is
acknowledged.

A full disk or a failed write returns `Refused`. A failed sync raises `SyncFailedError`, after which
the process must end. `flush.py` tracks how much of the log is fsynced.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.base.disk import Background, Completion, Disk, DiskError
from gantrymq.base.errors import LocalError
from gantrymq.store.commitlog.arena import Arena
from gantrymq.store.commitlog.log_blocks import BLOCK_BYTES, LogBlocks
from gantrymq.store.commitlog.tail import TAIL_BYTES, Tail
from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.files.segments import WINDOW_BYTES, Segments
from gantrymq.store.layout import COMMIT_LOG
from gantrymq.store.record.put_status import Refused, disk_refused
from gantrymq.store.settings import StoreSettings
from gantrymq.wire.message.record_scan import BLANK_BYTES

KEY: Final = "mappedFileSizeCommitLog"


@final
class CommitLog:
    """The commit log of one store. After `load`, recovery reads `segments`, then calls `resume`."""

    __slots__ = (
        "_blank",
        "_blocks",
        "_disk",
        "_root",
        "_tail",
        "_untidy_end",
        "end",
        "last_record",
        "segments",
        "store_timestamp_ms",
        "writes",
    )

    def __init__(
        self,
        disk: Disk,
        background: Background,
        settings: StoreSettings,
        *,
        folder: str = COMMIT_LOG,
        tail_bytes: int = TAIL_BYTES,
        block_bytes: int = BLOCK_BYTES,
        window_bytes: int = WINDOW_BYTES,
    ) -> None:
        self._blank = b""
        self._blocks = LogBlocks(block_bytes)
        self._disk = disk
        self._root = settings.store_path_root_dir
        self._tail = Tail(tail_bytes)
        self._untidy_end = 0
        self.segments = Segments(
            disk,
            background,
            folder,
            settings.mapped_file_size_commit_log,
            KEY,
            window_bytes=window_bytes,
        )
        self.end = 0
        self.last_record = 0
        self.store_timestamp_ms = 0
        self.writes = 0
        """The number of writes since the start; each writes one group of messages."""

    def load(self, *, is_size_known: bool = False) -> None:
        """List and check the log's files. `is_size_known`: the flush positions say that they had
        this size before. No record is read before `resume`."""
        self.segments.load(is_size_known=is_size_known)
        self.end = self.segments.first

    def resume(self, mark: LogPosition) -> None:
        """Set the end of the log.

        The caller has made sure, with `segments.truncate`, that only zeros lie behind it.
        """
        self.segments.resume(mark.position)
        self._end_at(mark)

    @property
    def mark(self) -> LogPosition:
        """The end of the log and its last record."""
        return LogPosition(self.end, self.last_record, self.store_timestamp_ms)

    @property
    def is_empty(self) -> bool:
        """Whether it has no record."""
        return self.end == self.start

    @property
    def start(self) -> int:
        """The position of the oldest byte."""
        return self.segments.first

    def close(self) -> None:
        self.segments.close()

    # ------------------------------------------------------------------ writing

    def start_group(self, now_ms: int) -> Arena:
        """An arena for the messages of this turn. Its store time never goes back, even if the clock
        does."""
        stamp = max(now_ms, self.store_timestamp_ms)
        return Arena(self.end, self.segments.file_bytes, stamp)

    def write(self, arena: Arena, now: float) -> Refused | None:
        """Write the whole group, or return why none of it is stored."""
        if arena.start != self.end:
            raise LocalError(f"the arena begins at {arena.start}, but the log ends at {self.end}")
        segments = self.segments
        runs = arena.runs()
        try:
            self.tidy()
            if arena.end > segments.reserved:
                segments.reserve(arena.end, now)
            for run in runs:
                self._untidy_end = run.position + len(run.data)
                segments.write(run.position, run.data)
        except DiskError as error:
            needed = arena.end - arena.start
            return disk_refused(error, self._disk, segments.folder, needed, self._root)
        self._untidy_end = 0
        for run in runs:
            self._tail.add(run.position, run.data)
        self.end = arena.end
        self.last_record = arena.last_record
        self.store_timestamp_ms = arena.store_timestamp_ms
        self.writes += 1
        self.prepare(now)
        return None

    def copy(self, position: int, data: bytes, mark: LogPosition, now: float) -> Refused | None:
        """Write whole records of a master's log, whose end and last record are `mark`. `position`
        is the end of the log, or the end of the blank that `fill` has written behind it."""
        assert position >= self.end and position + len(data) == mark.position  # noqa: PT018 - one row
        refused = self._write_behind(position, data, now)
        if refused is not None:
            return refused
        self._untidy_end = 0
        if position > self.end:
            self._tail.add(self.end, self._blank)
        self._tail.add(position, data)
        self._end_at(mark)
        self.prepare(now)
        return None

    def fill(self, position: int, data: bytes, now: float) -> Refused | None:
        """Write a part of a master's blank at a file's end. It becomes part of the log when a
        record is copied behind it; until then it may be erased and received again."""
        if position == self.end:
            self._blank = data[:BLANK_BYTES]
        return self._write_behind(position, data, now)

    def _write_behind(self, position: int, data: bytes, now: float) -> Refused | None:
        """Write at or behind the end, after erasing what a failed write left there."""
        segments = self.segments
        end = position + len(data)
        try:
            if self._untidy_end > position:
                segments.erase(position, self._untidy_end)
            segments.reserve(end, now)
            self._untidy_end = end
            segments.write(position, data)
        except DiskError as error:
            return disk_refused(error, self._disk, segments.folder, len(data), self._root)
        return None

    def clear(self) -> None:
        """Remove the files of a log without a record, and sync their removal; blocks."""
        assert self.is_empty
        self.segments.truncate(self.start)
        self._untidy_end = 0

    def begin(self, position: int) -> None:
        """Place the start of a log without a file at `position`. The first write creates the
        file."""
        assert self.is_empty
        self.segments.place(position)
        self._tail.clear()
        self._blocks.clear()
        self._end_at(LogPosition(position))

    def prepare(self, now: float) -> None:
        """Reserve disk space ahead. The owner calls this once; later `write` does."""
        self.segments.prepare(self.end, now)

    def tidy(self) -> None:
        """Erase what a failed group left, and sync that. For a clean stop; `write` does it too."""
        if self._untidy_end:
            self.segments.erase(self.end, self._untidy_end)
            self._untidy_end = 0

    def take(self, completion: Completion, now: float) -> bool:
        """Whether the completion was one of the log's own tickets."""
        return self.segments.take(completion, now)

    def truncate(self, mark: LogPosition) -> None:
        """Cut everything behind a record, and sync that; blocks.

        The caller must first save a flush position of the log that is not above `mark`.
        """
        end = mark.position
        if not self.start <= end <= self.end:
            raise LocalError(
                f"cannot truncate at {end}: the log reaches from {self.start} to {self.end}"
            )
        self.segments.truncate(end)
        self._tail.clear()
        self._blocks.clear()
        self._untidy_end = 0
        self._end_at(mark)

    def remove_first(self) -> bool:
        """Begin to remove the oldest file. False if it is the last file, or if a removal is under
        way."""
        if self.segments.start_of(self.end) == self.start:
            return False
        return self.segments.remove_first()

    # ------------------------------------------------------------------ reading

    def holds(self, position: int) -> bool:
        """Whether there is a byte at this position."""
        return self.start <= position < self.end

    def read(self, position: int, size: int) -> bytes | None:
        """At most `size` bytes, up to the end of the file or of the log, without waiting for the
        disk. None: use `ask_read`."""
        size = self._clip(position, size)
        data = self._tail.read(position, size)
        if data is None:
            data = self.segments.read_cached(position, size)
        return data

    def block(self, position: int) -> bytes | None:
        """The whole block that contains this byte, from `block_start` on. None unless many readers
        ask for it and it is in memory."""
        if not self.holds(position):
            return None
        start = self.block_start(position)
        found = self._blocks.find(start)
        return self._new_block(start) if found is None else found

    def block_start(self, position: int) -> int:
        """The start of the block that contains this byte."""
        return position - position % self.segments.file_bytes % self._blocks.block_bytes

    def _new_block(self, start: int) -> bytes | None:
        blocks = self._blocks
        size = blocks.block_bytes
        if self._clip(start, size) < size or not blocks.is_wanted(start):
            return None
        try:
            data = self.read(start, size)
        except DiskError:
            return None  # the caller may not need the failed bytes; if it does, its own read fails
        if data is None or len(data) < size:
            return None
        blocks.keep(start, data)
        return data

    @property
    def recent(self) -> int:
        """The position from which on the log is in memory."""
        return self._tail.start if self._tail.end == self.end else self.end

    def ask_read(self, position: int, size: int) -> int:
        """Read in the background; the ticket's completion carries the bytes that `read` would
        return."""
        return self.segments.ask_read(position, self._clip(position, size))

    def _end_at(self, mark: LogPosition) -> None:
        self.end = mark.position
        self.last_record = mark.record_start
        self.store_timestamp_ms = mark.store_timestamp_ms

    def _clip(self, position: int, size: int) -> int:
        if not self.holds(position) or size <= 0:
            raise LocalError(
                f"{size} bytes at {position} are not in the log: {self.start} to {self.end}"
            )
        file_end = self.segments.start_of(position) + self.segments.file_bytes
        return min(position + size, file_end, self.end) - position
