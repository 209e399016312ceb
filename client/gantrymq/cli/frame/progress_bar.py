"""Shows the progress of a long command on the last line of a terminal.

       42%  [#################.......................]  143/340

Invariant: a command that takes less than half a second shows no bar, and the bar disappears at the
end.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TextIO, final

_SHOWN_AFTER_S: Final = 0.5
_AGAIN_S: Final = 0.1
_WIDTH: Final = 40
_CLEAR: Final = "\r\x1b[K"


@final
class ProgressBar:
    """A Pace that draws the bar on a terminal."""

    def __init__(self, terminal: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._terminal = terminal
        self._clock = clock
        self._depth = 0
        self._parts = 0
        self._done = 0
        self._next_at = 0.0
        self._is_shown = False

    def begin(self, parts: int) -> None:
        """Start work of so many parts; 0 means an unknown number."""
        self._depth += 1
        if self._depth == 1:
            self._parts = parts
            self._done = 0
            self._next_at = self._clock() + _SHOWN_AFTER_S

    def advance(self, parts: int = 1) -> None:
        if self._depth != 1:
            return
        self._done += parts
        if self._clock() >= self._next_at:
            self._next_at = self._clock() + _AGAIN_S
            self._is_shown = True
            self._terminal.write(_CLEAR + self._text())
            self._terminal.flush()

    def end(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.clear()

    def clear(self) -> None:
        """Erase the bar, so that the next output starts at the left."""
        self._depth = 0
        if self._is_shown:
            self._is_shown = False
            self._terminal.write(_CLEAR)
            self._terminal.flush()

    def _text(self) -> str:
        if not self._parts:
            return f"{self._done}"
        share = min(1.0, self._done / self._parts)
        full = round(share * _WIDTH)
        bar = "#" * full + "." * (_WIDTH - full)
        return f"{share:>6.0%}  [{bar}]  {self._done}/{self._parts}"
