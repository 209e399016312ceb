"""Bounds how many log lines an event gets that peers can cause at any rate."""

from __future__ import annotations

from typing import Final, final

LINES_MAX: Final = 10
SECONDS: Final = 10.0


@final
class LogBudget:
    """Allows 10 lines in 10 seconds, and counts the events without a line.

    The object that logs the event owns it.
    """

    __slots__ = ("_left", "_skipped", "_until")

    def __init__(self) -> None:
        self._left: int = 0
        self._skipped: int = 0
        self._until: float = 0.0

    def note(self, now: float) -> int | None:
        """Count one event.

        Returns None if it gets no line, otherwise the number of events without one since the last
        line.
        """
        if now >= self._until:
            self._left, self._until = LINES_MAX, now + SECONDS
        if self._left == 0:
            self._skipped += 1
            return None
        self._left -= 1
        skipped, self._skipped = self._skipped, 0
        return skipped
