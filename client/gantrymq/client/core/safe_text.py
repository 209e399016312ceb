"""Texts of what users' code hands us: exceptions it raises, outcomes it returns.

Invariant: a text is always got. A repr is the user's code as well, and may fail: that of an object
of a database, say, whose session is closed. Whoever only wants to tell of a failure must not fail
for it.
"""

from __future__ import annotations

from gantrymq.base.errors import GantryError


def text_of(thing: object) -> str:
    """Its repr; where that fails, what kind of thing it is."""
    try:
        return repr(thing)
    except Exception as failure:  # of the user's code
        return f"<{type(thing).__name__}; its repr raised {type(failure).__name__}>"


def as_told(error: Exception) -> tuple[str, Exception | None]:
    """How a log line tells of what is tried again, and what to show with it: that which no error of
    ours is, as a hook of the user's may raise, is shown with where it was raised."""
    return (str(error), None) if isinstance(error, GantryError) else (text_of(error), error)
