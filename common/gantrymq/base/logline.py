"""Text of peers in lines of a log: none may end a line and forge the next, or fill the log."""

from __future__ import annotations

from typing import Final

# Lines quote what peers sent: a whole value must not fill the log.
LINE_CHARACTERS_MAX: Final = 2000


def one_line(text: str) -> str:
    """The text cut to the bound, with whatever cannot be printed spelled out."""
    if len(text) > LINE_CHARACTERS_MAX:
        text = text[: LINE_CHARACTERS_MAX - 1] + "…"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
