"""Tracks which progress may be written to a file, because the messages it covers are on disk.

A service that delivers messages records its progress when they are in the log. If a file had that
progress before the messages are on disk, a power cut would make the service skip them, although
they were accepted long ago. `safe` therefore returns the newest progress whose messages are on
disk.

Invariant: progress is released in the order it was recorded, and never before its messages are on
disk.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Generic, TypeVar, final

# The delay before a file without the latest progress is written again; a flush takes about as long.
AGAIN_SECONDS: Final = 1.0

T = TypeVar("T")

# Flushes are some hundreds of ms apart. Beyond this number a newer note replaces the newest one,
# and its progress is released a little later.
NOTES_MAX: Final = 64


@final
class DurableProgress(Generic[T]):
    """`latest` is the current progress, `safe` the progress that may be written."""

    __slots__ = ("_notes", "_safe", "latest")

    def __init__(self, start: T) -> None:
        self._safe = start
        self._notes: deque[tuple[int, T]] = deque()
        self.latest = start

    def note(self, value: T, log_end: int) -> None:
        """Record progress whose messages lie below `log_end`."""
        self.latest = value
        if len(self._notes) >= NOTES_MAX:
            self._notes.pop()
        self._notes.append((log_end, value))

    def safe(self, log_flushed: int) -> T:
        notes = self._notes
        while notes and notes[0][0] <= log_flushed:
            self._safe = notes.popleft()[1]
        return self._safe

    @property
    def is_safe(self) -> bool:
        """Whether `safe` returned the latest progress."""
        return not self._notes
