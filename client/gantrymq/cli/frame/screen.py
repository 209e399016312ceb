"""Shows pages on standard output and failures on standard error, with colours on terminals.

Invariant: no text of a message or a server moves a terminal's cursor or breaks a row of a table.
"""

from __future__ import annotations

import os
import re
from io import TextIOWrapper
from typing import Final, TextIO, final

from gantrymq.cli.frame.page import Page, Part, Table
from gantrymq.client.core.errors import BrokerError
from gantrymq.remoting.failures import ConnectError
from gantrymq.wire import javajson

_BOLD: Final = "\x1b[1m"
_RED: Final = "\x1b[31m"
_PLAIN: Final = "\x1b[0m"
_CLEAR: Final = "\x1b[H\x1b[2J"

# A text may contain tabs and line ends. A row of a table may not.
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_CONTROL_IN_ROWS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def show_what_cannot_be_encoded(stream: TextIO) -> None:
    """Write escapes for characters that the stream cannot encode, such as on an ASCII terminal."""
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")


@final
class Screen:
    """Writes the pages of one command, as text or as JSON."""

    def __init__(self, out: TextIO, err: TextIO, *, is_json: bool) -> None:
        self._out = out
        self._err = err
        self._is_json = is_json

    def clear(self) -> None:
        """Clear the terminal between two pages of --watch."""
        if self._out.isatty() and not self._is_json:
            self._out.write(_CLEAR)

    def show(self, command: str, page: Page) -> None:
        if self._is_json:
            self._out.write(javajson.dumps_standard(page.json()).decode() + "\n")
        else:
            for part in page.parts:
                self._out.write(self._text(part))
        self._out.flush()
        for failure in page.failures:
            line = f"gantry {command}: {failure_text(failure)}"
            if self._err.isatty():
                line = _escaped(_CONTROL, line)
            self._err.write((_coloured(_RED, line) if _has_colours(self._err) else line) + "\n")

    def _text(self, part: Part) -> str:
        lines = part.lines()
        if isinstance(part, Table):
            lines = [_escaped(_CONTROL_IN_ROWS, line) for line in lines]
            if _has_colours(self._out):
                lines[0] = _coloured(_BOLD, lines[0])
        elif self._out.isatty():
            lines = [_escaped(_CONTROL, line) for line in lines]
        return "".join(f"{line}\n" for line in lines)


def failure_text(failure: Exception) -> str:
    """Return a failure's text; a broker's refusal as mqadmin prints it, with its address."""
    if isinstance(failure, BrokerError):
        return f"CODE: {failure.code}  DESC: {failure.remark}  (from {failure.address})"
    return f"{failure}{_advice(failure)}"


def _advice(failure: Exception) -> str:
    """Return advice for a server that cannot be reached."""
    if isinstance(failure, ConnectError):
        return "; check that it runs and can be reached from here: gantry doctor checks all servers"
    return ""


def _escaped(kind: re.Pattern[str], text: str) -> str:
    return kind.sub(lambda found: repr(found[0])[1:-1], text)


def _has_colours(stream: TextIO) -> bool:
    return stream.isatty() and "NO_COLOR" not in os.environ


def _coloured(colour: str, text: str) -> str:
    return f"{colour}{text}{_PLAIN}"
