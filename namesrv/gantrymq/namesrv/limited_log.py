"""Writes the log lines that peers can cause, and limits how many of each kind are written."""

from __future__ import annotations

import asyncio
import re
from typing import Final, final

from gantrymq.namesrv.core.messages import Level, LogLine
from gantrymq.runtime.clock import Clock
from gantrymq.runtime.logs import Log, QuietLog

# Lines of one kind in an interval: enough for a cluster's restart; a peer that causes a line with
# each request gets some 5 KB a second.
LINES_MAX: Final = 300
LINES_SECONDS: Final = 10.0
_KIND: Final = re.compile(r"[A-Za-z',]*(?: [A-Za-z]+)?")


@final
class LimitedLog:
    """The log of the requests of one name server. A timer writes how many lines were left out;
    the owner calls `stop` at the end."""

    __slots__ = ("_clock", "_quiet_log", "_timer")

    def __init__(self, log: Log, clock: Clock) -> None:
        self._quiet_log = QuietLog(log, lines_max=LINES_MAX, interval_s=LINES_SECONDS)
        self._clock = clock
        self._timer: asyncio.TimerHandle | None = None

    def write(self, line: LogLine, now: float) -> None:
        """Write a line of the core; its first words are its kind."""
        write = self._quiet_log.info if line.level is Level.INFO else self._quiet_log.warning
        write(_kind(line.text), now, line.text)
        self._settle_later()

    def warning(self, text: str, **fields: object) -> None:
        """Write a warning whose text is its kind."""
        self._quiet_log.warning(text, self._clock.monotonic(), text, **fields)
        self._settle_later()

    def error(self, kind: str, text: str, *, cause: BaseException) -> None:
        """Write an error with its traceback."""
        self._quiet_log.error(kind, self._clock.monotonic(), text, cause=cause)
        self._settle_later()

    def stop(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()

    def _settle_later(self) -> None:
        """Schedule the line that counts what was left out, even if no further line comes."""
        if self._timer is None and self._quiet_log.has_open_intervals:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(LINES_SECONDS, self._settle)

    def _settle(self) -> None:
        self._timer = None
        self._quiet_log.settle(self._clock.monotonic())
        self._settle_later()


def _kind(text: str) -> str:
    """The first words of a line, two at most, without anything that a peer chose."""
    match = _KIND.match(text)
    assert match is not None, "the pattern matches nothing at all"
    return match[0]
