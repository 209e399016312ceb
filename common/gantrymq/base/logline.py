"""Makes text of peers safe for log lines: it cannot end a line, forge one, or fill the log."""

from __future__ import annotations

from typing import Final

# Log lines quote input of peers; a long value must not fill the log.
LINE_CHARACTERS_MAX: Final = 2000


def one_line(text: str) -> str:
    """The text cut to the bound, with unprintable characters escaped."""
    if len(text) > LINE_CHARACTERS_MAX:
        text = text[: LINE_CHARACTERS_MAX - 1] + "…"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
