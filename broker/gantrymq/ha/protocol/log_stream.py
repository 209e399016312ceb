"""Reads the log from a position on, in pieces, to send it to one follower.

    in memory       read at once, a piece at a time
    cold            read from the disk in one large read, which is then sent in pieces

A disk read completes in `read`: the owner of a store's streams calls `turn` for all of them once a
turn.

Invariant: each piece continues the one before. Bounds: one read per stream, of `cold_bytes`; its
result is kept until it was sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from gantrymq.base.disk import DiskError
from gantrymq.ha.protocol.events import Ending
from gantrymq.store.commitlog.commitlog import CommitLog
from gantrymq.store.read.async_reader import AsyncReader
from gantrymq.store.read.read_result import Finished
from gantrymq.store.read.readable_store import log_bytes

# Some milliseconds of a gigabit link: enough to keep it busy from one turn to the next.
OUTPUT_BYTES_MAX: Final = 512 * 1024


@final
class LogStream:
    """The log as it is sent on one connection. Its number differs from those of the store's other
    streams."""

    __slots__ = (
        "_chunk",
        "_chunk_at",
        "_cold_bytes",
        "_log",
        "_number",
        "_reader",
        "failure",
        "is_open",
        "is_reading",
        "sent",
    )

    def __init__(self, number: int, log: CommitLog, readings: AsyncReader, cold_bytes: int) -> None:
        """Reads from the disk are larger than the pieces sent, as each costs an iteration of the
        event loop."""
        self.failure: tuple[Ending, str] | None = None
        """Why nothing more can be read."""
        self.is_open = False
        """Whether the start position is known and the stream is not closed."""
        self.is_reading = False
        """Whether a disk read is under way."""
        self.sent = 0
        """The position up to which the log was returned by `next`."""
        self._chunk = b""
        self._chunk_at = 0
        self._cold_bytes = cold_bytes
        self._log = log
        self._number = number
        self._reader = readings

    def begin(self, position: int) -> None:
        """Start at this position."""
        self.is_open = True
        self.sent = position

    @property
    def has_more(self) -> bool:
        """Whether the log continues behind `sent`."""
        return self.is_open and self.failure is None and self.sent < self._log.end

    @property
    def is_ready(self) -> bool:
        """Whether `next` returns bytes or starts a disk read."""
        return self.has_more and not self.is_reading

    def next(self, size: int) -> bytes:
        """The next bytes, at most `size` and not beyond the end of a file. Empty at the end of the
        log, while the disk is being read, and after an error, which `failure` describes."""
        if not self.is_ready:
            return b""
        try:
            data = self._piece(size)
        except DiskError as error:
            self._fail_as_unreadable(error)
            return b""
        self.sent += len(data)
        return data

    def _piece(self, size: int) -> bytes:
        at = self._chunk_at
        if at < len(self._chunk):
            data = self._chunk[at : at + size]
            self._chunk_at += len(data)
            if self._chunk_at == len(self._chunk):
                self._drop_chunk()
            return data
        if self.sent < self._log.start:
            self._fail_as_deleted()
            return b""
        found = self._log.read(self.sent, size)
        if found is not None:
            return found
        self.is_reading = True
        self._reader.start(self._number, log_bytes(self._log, self.sent, self._cold_bytes))
        return b""

    def read(self, finished: Finished) -> None:
        """Take the result of the disk read."""
        self.is_reading = False
        if finished.error is not None:
            self._fail_as_unreadable(finished.error)
            return
        assert isinstance(finished.result, bytes)
        self._chunk = finished.result
        self._chunk_at = 0

    def close(self) -> None:
        """End the stream and cancel its disk read."""
        self.is_open = self.is_reading = False
        self._drop_chunk()
        self._reader.cancel(self._number)

    def _drop_chunk(self) -> None:
        self._chunk = b""
        self._chunk_at = 0

    def _fail_as_deleted(self) -> None:
        self.failure = Ending.TOO_FAR_BEHIND, too_far_behind(self.sent, self._log)

    def _fail_as_unreadable(self, cause: Exception) -> None:
        self.failure = Ending.DISK, f"the log cannot be read at {self.sent}: {cause}"


def turn(readings: AsyncReader, streams: Mapping[int, LogStream]) -> None:
    """Deliver completed disk reads to their streams; called once a turn."""
    readings.turn()
    for finished in readings.take_finished():
        stream = streams.get(finished.key)
        if stream is not None and stream.is_reading:
            stream.read(finished)


def too_far_behind(end: int, log: CommitLog) -> str:
    """Why a log that ends there cannot be continued from this log."""
    return (
        f"the follower's log ends at {end}, and this log begins at {log.start}: retention has"
        " deleted the files between"
    )
