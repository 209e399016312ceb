"""Writes one-line logs, as text or JSON, and limits the lines that peers can cause.

    2026-11-21T03:26:51.123Z WARNING remoting connection closed peer=10.0.0.7:51234 reason=garbage

    {"time": "2026-11-21T03:26:51.123Z", "level": "WARNING", "part": "remoting",
     "event": "connection closed", "fields": {"peer": "10.0.0.7:51234", "reason": "garbage"}}

A line is a constant sentence, then fields. In text, a value with blanks, quotes or control
characters is quoted; in JSON, each line is one object. So no input of a peer can forge a line.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TextIO, final

# Attributes of the standard library's log records, for the event and the fields of a line.
_EVENT: Final = "gantry_event"
_FIELDS: Final = "gantry_fields"

# Keys of the rate limit come from code (reasons, names of stages), not from peers. If that changes
# by mistake, memory stays bounded and further keys share one allowance.
KEYS_MAX: Final = 256
FIELD_CHARACTERS_MAX: Final = 500


class Form(StrEnum):
    """The format of log lines."""

    CONSOLE = "console"
    JSON = "json"


def field(value: object) -> str:
    """The value as it appears in a line: bare if possible, else quoted; cut to a maximal length."""
    text = _short(value)
    is_bare = text != "" and text.isprintable() and not any(mark in text for mark in ' "=')
    if is_bare:
        return text
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else repr(c)[1:-1] for c in quoted) + '"'


def _short(value: object) -> str:
    text = str(value)
    if len(text) > FIELD_CHARACTERS_MAX:
        text = text[: FIELD_CHARACTERS_MAX - 1] + "…"
    return text


@final
class Log:
    """The log of one part of the product; a wrapper of the standard library's logger."""

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
        """Log an error. With a cause, which means a bug, its traceback follows on lines of its
        own."""
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
            named = {_EVENT: text, _FIELDS: fields}
            self._logger.log(level, "%s", line, exc_info=cause, extra=named)


@dataclass(slots=True)
class _Allowance:
    interval_ends_at: float
    written: int
    left_out: int


@final
class QuietLog:
    """Limits lines by key: at most `lines_max` a key and interval, and counts those left out.

    `settle` writes the "and N more" of intervals that have ended. Its owner calls it regularly;
    otherwise the last count would wait for the next line.
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
        """Whether `settle` may have something to write later."""
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


@final
class _JsonFormatter(logging.Formatter):
    """Writes each line as one JSON object. Lines of libraries have their whole text as the event,
    and no fields."""

    def __init__(self) -> None:
        super().__init__()
        self.converter = time.gmtime

    def format(self, record: logging.LogRecord) -> str:
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        written: dict[str, object] = {
            "time": f"{seconds}.{int(record.msecs):03}Z",
            "level": record.levelname,
            "part": record.name,
            "event": getattr(record, _EVENT, None) or record.getMessage(),
        }
        fields: Mapping[str, object] | None = getattr(record, _FIELDS, None)
        if fields:
            written["fields"] = {key: _json_value(value) for key, value in fields.items()}
        if record.exc_info and record.exc_info[0] is not None:
            written["traceback"] = self.formatException(record.exc_info)
        return json.dumps(written, ensure_ascii=False)


def _json_value(value: object) -> object:
    """A number or a boolean unchanged, and any other value as text of bounded length."""
    return value if isinstance(value, bool | int | float) else _short(value)


def configure(level: str = "INFO", stream: TextIO | None = None, form: str = Form.CONSOLE) -> None:
    """Send the process's logs to `stream` (standard error by default), as text or as JSON."""
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(_JsonFormatter() if form == Form.JSON else _LineFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    if form not in tuple(Form):
        Log("logs").warning("unknown log format", given=form, used=Form.CONSOLE)
