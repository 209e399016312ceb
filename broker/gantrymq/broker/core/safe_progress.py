"""How far something has come that a file may say, once the log has it on disk.

Who delivers messages notes its place when they are in the log. A file that said so before they are
on disk would, after a power cut, have them skipped: they were accepted long ago, and must not be
lost with the end of the log. So `safe` answers the newest place whose messages are on disk.

Invariant: places go out in the order they were noted, none before its messages are on disk.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Generic, TypeVar, final

# A file that could not say the latest is written again no sooner: a flush takes about as long.
AGAIN_SECONDS: Final = 1.0

T = TypeVar("T")

# Flushes are some hundreds of ms apart. Beyond this, newer notes replace each other: a place is
# told a little later then.
NOTES_MAX: Final = 64


@final
class SafeProgress(Generic[T]):
    """`latest` is where it is, `safe` what may be written."""

    __slots__ = ("_notes", "_safe", "latest")

    def __init__(self, start: T) -> None:
        self._safe = start
        self._notes: deque[tuple[int, T]] = deque()
        self.latest = start

    def note(self, value: T, log_end: int) -> None:
        """It has come to here, by messages that lie below `log_end`."""
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
        """Whether `safe` told the latest."""
        return not self._notes
