"""The commit log: every message of every queue, in the order of arrival.

    turn      arena = log.start_group(now_ms); arena.add(message) ...; log.write(arena, now)

Invariants. `end` moves only when a whole group is written: a group that failed leaves the log as
it was, and before anything else is written in its place it is erased for good, so that no recovery
can find refused messages behind accepted ones. Bytes below `end` never change. Store timestamps
never fall. Nothing is written that has no reserved space, and nothing above `end` is answered.

A full disk or a failed write is a `Refused`; a failed sync is a `SyncFailedError`, after which the
process must end. What is on disk for good is told by `flush.py`.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.base.disk import Background, Completion, Disk, DiskError
from gantrymq.base.errors import LocalError
from gantrymq.store.arena import Arena
from gantrymq.store.layout import COMMIT_LOG
from gantrymq.store.log_blocks import BLOCK_BYTES, LogBlocks
from gantrymq.store.marks import LogMark
from gantrymq.store.put import Refused, disk_refused
from gantrymq.store.segments import WINDOW_BYTES, Segments
from gantrymq.store.settings import StoreSettings
from gantrymq.store.tail import TAIL_BYTES, Tail
from gantrymq.wire.message.record import BLANK_BYTES

KEY: Final = "mappedFileSizeCommitLog"


@final
class CommitLog:
    """Opened by `load`; recovery walks `segments` and then says by `resume` where the log ends."""

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
        """Look at the files, whose size the flush mark knows; nothing is read before `resume`."""
        self.segments.load(is_size_known=is_size_known)
        self.end = self.segments.first

    def resume(self, mark: LogMark) -> None:
        """The log ends here.

        The caller has made sure, by `segments.truncate`, that only zeros lie above.
        """
        self.segments.resume(mark.position)
        self._end_at(mark)

    @property
    def mark(self) -> LogMark:
        """Where the log ends, and its last record."""
        return LogMark(self.end, self.last_record, self.store_timestamp_ms)

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
        """An arena for the messages of this turn; a clock set back is not followed."""
        stamp = max(now_ms, self.store_timestamp_ms)
        return Arena(self.end, self.segments.file_bytes, stamp)

    def write(self, arena: Arena, now: float) -> Refused | None:
        """Write the whole group, or say why none of it is stored."""
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

    def copy(self, position: int, data: bytes, mark: LogMark, now: float) -> Refused | None:
        """Write whole records of a master's log, which end at the mark: at the end, or behind the
        blank there that `fill` has written."""
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
        """Write a piece of a master's blank. It is no part of the log before a record is copied
        behind it; until then it may be tidied away, and come again."""
        if position == self.end:
            self._blank = data[:BLANK_BYTES]
        return self._write_behind(position, data, now)

    def _write_behind(self, position: int, data: bytes, now: float) -> Refused | None:
        """At the end, or further on; what a failed write left there is erased for good before."""
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
        """A log without a record has no file either, for good; blocks."""
        assert self.is_empty
        self.segments.truncate(self.start)
        self._untidy_end = 0

    def begin(self, position: int) -> None:
        """A log without a file begins here, with the first that is written."""
        assert self.is_empty
        self.segments.place(position)
        self._tail.clear()
        self._blocks.clear()
        self._end_at(LogMark(position))

    def prepare(self, now: float) -> None:
        """Have space reserved ahead; `write` sees to it, the owner once before the first."""
        self.segments.prepare(self.end, now)

    def tidy(self) -> None:
        """Erase for good what a failed group left behind; for a clean stop, `write` does it too."""
        if self._untidy_end:
            self.segments.erase(self.end, self._untidy_end)
            self._untidy_end = 0

    def take(self, completion: Completion, now: float) -> bool:
        """Whether the completion was one of the log's own tickets."""
        return self.segments.take(completion, now)

    def truncate(self, mark: LogMark) -> None:
        """Cut everything behind a record, for good; blocks.

        The log's mark on disk has been settled here or below before.
        """
        end = mark.position
        if not self.start <= end <= self.end:
            raise LocalError(
                f"cannot cut at {end}: the log reaches from {self.start} to {self.end}"
            )
        self.segments.truncate(end)
        self._tail.clear()
        self._blocks.clear()
        self._untidy_end = 0
        self._end_at(mark)

    def remove_first(self) -> bool:
        """Begin to remove the oldest file; False when it is needed, or one is going already."""
        if self.segments.start_of(self.end) == self.start:
            return False
        return self.segments.remove_first()

    # ------------------------------------------------------------------ reading

    def holds(self, position: int) -> bool:
        """Whether there is a byte at this position."""
        return self.start <= position < self.end

    def read(self, position: int, size: int) -> bytes | None:
        """At most to the end of the file or of the log, without waiting; None: `ask_read`."""
        size = self._clip(position, size)
        data = self._tail.read(position, size)
        if data is None:
            data = self.segments.read_cached(position, size)
        return data

    def block(self, position: int) -> bytes | None:
        """The whole block that this byte lies in, from `block_start` on, when many look at it and
        it is in memory."""
        if not self.holds(position):
            return None
        start = self.block_start(position)
        found = self._blocks.find(start)
        return self._new_block(start) if found is None else found

    def block_start(self, position: int) -> int:
        """Where the block begins that this byte lies in."""
        return position - position % self.segments.file_bytes % self._blocks.block_bytes

    def _new_block(self, start: int) -> bytes | None:
        blocks = self._blocks
        size = blocks.block_bytes
        if self._clip(start, size) < size or not blocks.is_wanted(start):
            return None
        try:
            data = self.read(start, size)
        except DiskError:
            return None  # part of it nobody may have asked for; who did will hear of it
        if data is None or len(data) < size:
            return None
        blocks.keep(start, data)
        return data

    @property
    def recent(self) -> int:
        """From here on the log is in memory."""
        return self._tail.start if self._tail.end == self.end else self.end

    def ask_read(self, position: int, size: int) -> int:
        """The same by a ticket, which the caller keeps an eye on."""
        return self.segments.ask_read(position, self._clip(position, size))

    def _end_at(self, mark: LogMark) -> None:
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
