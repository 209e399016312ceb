"""Appends the bytes of a master's log to a slave's log, however the network divides them.

    records    written and dispatched when they are whole; until then buffered in memory
    blank      the rest of a file, with any content: written as it arrives; it becomes part of the
               log with the first record of the next file

Invariants. The log ends where a record ends, as every log of ours does, so recovery works for
copies too. A record that was incomplete when a connection ended is sent again. Only sound records
at their own position are written: this reveals, at the latest, a master whose log has diverged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, final

from gantrymq.base.disk import DiskError
from gantrymq.base.errors import LocalError
from gantrymq.store.commitlog.commitlog import CommitLog
from gantrymq.store.commitlog.log_entries import EntryReader
from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.read.readable_store import RECORD_BYTES_MAX
from gantrymq.store.record.delay_levels import DelayLevels
from gantrymq.store.record.dispatch_entry import DispatchEntry
from gantrymq.store.record.put_status import Refused
from gantrymq.store.record.walk import Found, LogItem
from gantrymq.store.recovery.flush_coordinator import FlushCoordinator


@final
class CopyRefused:
    """Why received bytes were not taken, or not all of them."""

    __slots__ = ("is_diverged", "text")

    def __init__(self, text: str, *, is_diverged: bool) -> None:
        self.is_diverged: bool = is_diverged
        """Whether the bytes do not continue this log. If not, the disk is the reason, and a retry
        may succeed."""
        self.text: str = text


WRONG_SIZE: Final = (
    "mappedFileSizeCommitLog must be the same on master and slave; empty this store to change it"
)


@final
class ReplicaAppender:
    """Received bytes on their way into the log. `dispatch` is called with the written records."""

    __slots__ = (
        "_blank_end",
        "_dispatch",
        "_end",
        "_log",
        "_reader",
        "_start",
        "_torn",
        "_wanted",
    )

    def __init__(
        self,
        log: CommitLog,
        levels: DelayLevels,
        dispatch: Callable[[Sequence[DispatchEntry]], None],
    ) -> None:
        self._blank_end: int = 0
        self._dispatch: Callable[[Sequence[DispatchEntry]], None] = dispatch
        self._end: int = 0
        self._log: CommitLog = log
        self._reader = EntryReader(log.segments.file_bytes, levels)
        self._start: int = 0
        self._torn: list[bytes] = []
        self._wanted: int = 1

    def begin(self) -> None:
        """Expect bytes from the end of the log on, and discard an incomplete record."""
        self._blank_end = 0
        self._start = self._end = self._log.end
        self._torn.clear()
        self._wanted = 1

    def take(
        self, position: int, data: bytes, flushes: FlushCoordinator, now: float
    ) -> CopyRefused | None:
        """Take the next bytes. After a refusal `begin` must be called."""
        if position != self._end:
            refused = self._begin_log(position, flushes)
            if refused is not None:
                return refused
        self._torn.append(data)
        self._end += len(data)
        while self._end - self._start >= self._wanted:
            whole = self._torn[0] if len(self._torn) == 1 else b"".join(self._torn)
            if self._start < self._blank_end:
                refused = self._fill(whole, now)
            else:
                refused = self._write(whole, now)
            if refused is not None:
                return refused
        return None

    def _begin_log(self, position: int, flushes: FlushCoordinator) -> CopyRefused | None:
        """Start an empty log at the master's start: the master may have deleted its oldest
        files."""
        log = self._log
        if not log.is_empty or self._end != log.end:
            raise LocalError(
                f"the master sent bytes at {position}, but this log continues at {self._end}"
            )
        if position != log.segments.start_of(position):
            text = f"the master's log begins at {position}, where no file may begin: {WRONG_SIZE}"
            return CopyRefused(text, is_diverged=True)
        if flushes.is_syncing:  # for instance of the flush positions, after a failed attempt
            text = f"the log cannot begin at {position} while a sync is under way"
            return CopyRefused(text, is_diverged=False)
        try:
            flushes.begin(position)
        except DiskError as error:
            return CopyRefused(f"the log cannot begin at {position}: {error}", is_diverged=False)
        self.begin()
        return None

    def _fill(self, data: bytes, now: float) -> CopyRefused | None:
        """Write bytes of a blank, up to its end."""
        size = self._blank_end - self._start
        refused = self._log.fill(self._start, data[:size], now)
        if refused is not None:
            return _of_disk(refused)
        self._keep(data[size:])
        return None

    def _write(self, data: bytes, now: float) -> CopyRefused | None:
        """Write bytes that begin with a record or a blank."""
        start = self._start
        read = self._reader.read(data, start)
        if read.found:
            last = read.found[-1]
            mark = LogPosition(read.end, last.physical_offset, last.store_timestamp_ms)
            size = read.end - start
            refused = self._log.copy(start, data[:size] if size < len(data) else data, mark, now)
            if refused is not None:
                return _of_disk(refused)
            self._dispatch(read.found)
            data = data[size:]
        self._keep(data)
        return None if read.stop is None else self._stopped(read.stop)

    def _keep(self, rest: bytes) -> None:
        """Keep these bytes; everything before them was written."""
        self._start = self._end - len(rest)
        self._torn = [rest] if rest else []
        self._wanted = 1

    def _stopped(self, stop: LogItem) -> CopyRefused | None:
        """Handle what follows the whole records: a blank, an incomplete record, or foreign
        bytes."""
        if stop.found is Found.BLANK:
            self._blank_end = stop.position + stop.size
            return None
        if stop.found is Found.MORE and stop.size <= RECORD_BYTES_MAX:
            self._wanted = stop.size
            return None
        reason = stop.reason or f"a record of {stop.size} bytes"
        return CopyRefused(
            f"the master's bytes at {stop.position} do not continue this log: {reason}. If the"
            f" logs have diverged, empty this store, and it copies the log anew; {WRONG_SIZE}",
            is_diverged=True,
        )


def _of_disk(refused: Refused) -> CopyRefused:
    return CopyRefused(refused.text, is_diverged=False)
