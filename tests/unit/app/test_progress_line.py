"""Tests the display of the progress of long tasks."""

from __future__ import annotations

import io
import itertools

from gantrymq.app.progress_line import ProgressLine
from gantrymq.store.progress import Progress, ProgressTask


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def work(count: int = 10) -> ProgressTask[None]:
    return (Progress("log", done, count) for done in range(count))


def shown(out: io.StringIO, step_seconds: float = 1, *, is_wanted: bool) -> str:
    """The output if each reading of the clock is this much later."""
    seconds = itertools.count(step=step_seconds)
    ProgressLine(out, is_wanted=is_wanted, now=lambda: next(seconds)).follow(work())
    return out.getvalue()


def test_terminal_shows_a_bar_and_erases_it_at_the_end() -> None:
    written = shown(Terminal(), is_wanted=False)
    assert "[############" in written
    assert "50%" in written
    assert written.endswith("\r\x1b[K")


def test_file_shows_nothing_by_default() -> None:
    assert shown(io.StringIO(), is_wanted=False) == ""


def test_file_shows_lines_with_progress_option() -> None:
    assert shown(io.StringIO(), is_wanted=True) == "log: 0%\nlog: 50%\n"


def test_short_task_shows_nothing() -> None:
    assert shown(Terminal(), 0.05, is_wanted=True) == ""
