"""The log on its way to one of those who follow it: from a position on, in pieces.

    in memory       read at once, a piece at a time
    cold            asked of the disk in one large reading, which is then sent in pieces

What was asked for comes back by `read`: whoever owns the streams of a store calls `turn` for all of
them, once a turn.

Invariant: pieces continue each other. Bounds: one reading a stream, `cold_bytes` large; it is kept
until it was sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from gantrymq.base.disk import DiskError
from gantrymq.ha.events import Ending
from gantrymq.store.commitlog import CommitLog
from gantrymq.store.finished import Finished
from gantrymq.store.readings import Readings
from gantrymq.store.sources import log_bytes

# Some milliseconds of a gigabit: enough to keep it busy from one turn to the next.
OUTPUT_BYTES_MAX: Final = 512 * 1024


@final
class LogStream:
    """Of one connection, whose number no other stream of the store has."""

    __slots__ = (
        "_chunk",
        "_chunk_at",
        "_cold_bytes",
        "_log",
        "_number",
        "_readings",
        "failure",
        "is_open",
        "is_reading",
        "sent",
    )

    def __init__(self, number: int, log: CommitLog, readings: Readings, cold_bytes: int) -> None:
        """Cold bytes are asked for in larger pieces than are sent: each costs a round of the
        loop."""
        self.failure: tuple[Ending, str] | None = None
        """Why nothing more can be read."""
        self.is_open = False
        """Whether it is known where to begin, and it was not closed."""
        self.is_reading = False
        """Whether the disk is reading what is sent next."""
        self.sent = 0
        """Up to here it was handed out."""
        self._chunk = b""
        self._chunk_at = 0
        self._cold_bytes = cold_bytes
        self._log = log
        self._number = number
        self._readings = readings

    def begin(self, position: int) -> None:
        """From here on."""
        self.is_open = True
        self.sent = position

    @property
    def has_more(self) -> bool:
        """Whether the log has what was not handed out."""
        return self.is_open and self.failure is None and self.sent < self._log.end

    @property
    def is_ready(self) -> bool:
        """Whether `next` has something, or something to ask for."""
        return self.has_more and not self.is_reading

    def next(self, size: int) -> bytes:
        """The next bytes, at most so many and to the end of a file; none while there are none, or
        the disk reads them, or when `failure` says why there will be none."""
        if not self.is_ready:
            return b""
        try:
            data = self._piece(size)
        except DiskError as error:
            self._cannot_read(error)
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
            self._is_gone()
            return b""
        found = self._log.read(self.sent, size)
        if found is not None:
            return found
        self.is_reading = True
        self._readings.start(self._number, log_bytes(self._log, self.sent, self._cold_bytes))
        return b""

    def read(self, finished: Finished) -> None:
        """The reading has ended."""
        self.is_reading = False
        if finished.error is not None:
            self._cannot_read(finished.error)
            return
        assert isinstance(finished.result, bytes)
        self._chunk = finished.result
        self._chunk_at = 0

    def close(self) -> None:
        """Nobody wants it any more."""
        self.is_open = self.is_reading = False
        self._drop_chunk()
        self._readings.cancel(self._number)

    def _drop_chunk(self) -> None:
        self._chunk = b""
        self._chunk_at = 0

    def _is_gone(self) -> None:
        self.failure = Ending.TOO_FAR_BEHIND, too_far_behind(self.sent, self._log)

    def _cannot_read(self, cause: Exception) -> None:
        self.failure = Ending.DISK, f"the log cannot be read at {self.sent}: {cause}"


def turn(readings: Readings, streams: Mapping[int, LogStream]) -> None:
    """Once a turn: what the disk has read goes to those who asked for it."""
    readings.turn()
    for finished in readings.take_finished():
        stream = streams.get(finished.key)
        if stream is not None and stream.is_reading:
            stream.read(finished)


def too_far_behind(end: int, log: CommitLog) -> str:
    """Why a log that ends there cannot go on with ours."""
    return f"its log ends at {end}, ours begins at {log.start}: the files between were deleted here"
