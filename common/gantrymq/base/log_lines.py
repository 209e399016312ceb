"""Keeps peers from filling or forging the log: bounds the number of lines, and their text."""

from __future__ import annotations

from typing import Final, final

LINES_MAX: Final = 10
SECONDS: Final = 10.0

# Log lines quote input of peers; a long value must not fill the log.
LINE_CHARACTERS_MAX: Final = 2000


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


def one_line(text: str) -> str:
    """The text cut to the bound, with unprintable characters escaped."""
    if len(text) > LINE_CHARACTERS_MAX:
        text = text[: LINE_CHARACTERS_MAX - 1] + "…"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
