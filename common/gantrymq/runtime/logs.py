"""One-line logs for people and for grep, and a limit on lines that peers can cause.

    2026-11-21T03:26:51.123Z WARNING remoting connection closed peer=10.0.0.7:51234 reason=garbage

A sentence that never varies, then key=value fields; a value with blanks, quotes or control
characters is quoted, so that nothing a peer sends can forge a line.
"""

from __future__ import annotations

import logging
import sys
import time
from dataclasses import dataclass
from typing import Final, TextIO, final

# Keys of the rate limit come from code (reasons, names of stages), not from peers; should that
# ever change by mistake, memory stays bounded and the rest shares one allowance.
KEYS_MAX: Final = 256
FIELD_CHARACTERS_MAX: Final = 500


def field(value: object) -> str:
    """A value as it stands in a line: bare when it can be, quoted otherwise, never too long."""
    text = str(value)
    if len(text) > FIELD_CHARACTERS_MAX:
        text = text[: FIELD_CHARACTERS_MAX - 1] + "…"
    is_bare = text != "" and text.isprintable() and not any(mark in text for mark in ' "=')
    if is_bare:
        return text
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else repr(c)[1:-1] for c in quoted) + '"'


@final
class Log:
    """The log of one part of the product; thin over the standard library's logger."""

    __slots__ = ("_logger",)

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def debug(self, text: str, **fields: object) -> None:
        self._write(logging.DEBUG, text, fields)

    def info(self, text: str, **fields: object) -> None:
        self._write(logging.INFO, text, fields)

    def warning(self, text: str, **fields: object) -> None:
        self._write(logging.WARNING, text, fields)

    def error(self, text: str, *, cause: BaseException | None = None, **fields: object) -> None:
        """With a cause, its traceback follows on lines of its own: a bug deserves them."""
        self._write(logging.ERROR, text, fields, cause)

    def _write(
        self,
        level: int,
        text: str,
        fields: dict[str, object],
        cause: BaseException | None = None,
    ) -> None:
        if self._logger.isEnabledFor(level):
            line = " ".join([text, *(f"{key}={field(value)}" for key, value in fields.items())])
            self._logger.log(level, "%s", line, exc_info=cause)


@dataclass(slots=True)
class _Allowance:
    interval_ends_at: float
    written: int
    left_out: int


@final
class QuietLog:
    """Lines by key, at most `lines_max` a key and interval; what is left out is counted.

    `now` is an argument. `settle` writes the "and N more" of intervals that have ended; its owner
    calls it now and then, else the last count would wait for the next line.
    """

    __slots__ = ("_allowances", "_interval_s", "_lines_max", "_log")

    def __init__(self, log: Log, *, lines_max: int = 5, interval_s: float = 10.0) -> None:
        self._log = log
        self._lines_max = lines_max
        self._interval_s = interval_s
        self._allowances: dict[str, _Allowance] = {}

    def info(self, key: str, now: float, text: str, **fields: object) -> None:
        if self._allows(key, now):
            self._log.info(text, **fields)

    def warning(self, key: str, now: float, text: str, **fields: object) -> None:
        if self._allows(key, now):
            self._log.warning(text, **fields)

    def error(self, key: str, now: float, text: str, *, cause: BaseException) -> None:
        if self._allows(key, now):
            self._log.error(text, cause=cause)

    def _allows(self, key: str, now: float) -> bool:
        allowance = self._allowances.get(key)
        if allowance is None and len(self._allowances) >= KEYS_MAX:
            key, allowance = "others", self._allowances.get("others")
        if allowance is None or allowance.interval_ends_at <= now:
            self._settle_one(key, allowance)
            allowance = self._allowances[key] = _Allowance(now + self._interval_s, 0, 0)
        if allowance.written >= self._lines_max:
            allowance.left_out += 1
            return False
        allowance.written += 1
        return True

    @property
    def has_open_intervals(self) -> bool:
        """Whether there may be something to settle later."""
        return bool(self._allowances)

    def settle(self, now: float) -> None:
        ended = [key for key, held in self._allowances.items() if held.interval_ends_at <= now]
        for key in ended:
            self._settle_one(key, self._allowances.pop(key))

    def _settle_one(self, key: str, allowance: _Allowance | None) -> None:
        if allowance is not None and allowance.left_out:
            self._log.warning(
                f"… and {allowance.left_out} more", kind=key, within=f"{self._interval_s:g}s"
            )


@final
class _LineFormatter(logging.Formatter):
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s %(message)s")
        self.converter = time.gmtime


def configure(level: str = "INFO", stream: TextIO | None = None) -> None:
    """Send the process's logs to `stream` (standard error) in the house format."""
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(_LineFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
