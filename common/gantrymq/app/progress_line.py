"""Shows the progress of a task on stderr: as a bar on a terminal, else as lines if wanted.

A task that ends within a second shows nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TextIO, final

from gantrymq.store.progress import Progress, ProgressTask

FIRST_SECONDS: Final = 1.0
BAR_SECONDS: Final = 0.2
LINE_SECONDS: Final = 5.0  # for logs of jobs
BAR_WIDTH: Final = 30


@final
class ProgressLine:
    """The progress display of one command, which owns it."""

    __slots__ = ("_has_bar", "_is_shown", "_next", "_now", "_out")

    def __init__(
        self, out: TextIO, *, is_wanted: bool, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._out = out
        self._now = now
        self._has_bar = out.isatty()
        self._is_shown = is_wanted or self._has_bar
        self._next = 0.0

    def follow(self, task: ProgressTask[None]) -> None:
        """Run the task to its end and show its progress."""
        self._next = self._now() + FIRST_SECONDS
        shown = False
        for progress in task:
            now = self._now()
            if self._is_shown and now >= self._next:
                self._next = now + (BAR_SECONDS if self._has_bar else LINE_SECONDS)
                self._show(progress)
                shown = True
        if shown and self._has_bar:
            self._out.write("\r\x1b[K")
            self._out.flush()

    def _show(self, progress: Progress) -> None:
        ratio = min(1.0, progress.done / progress.total) if progress.total else 1.0
        if self._has_bar:
            filled = int(ratio * BAR_WIDTH)
            bar = "#" * filled + "." * (BAR_WIDTH - filled)
            self._out.write(f"\r\x1b[K{progress.stage:7} [{bar}] {ratio:4.0%}")
        else:
            self._out.write(f"{progress.stage}: {ratio:.0%}\n")
        self._out.flush()
