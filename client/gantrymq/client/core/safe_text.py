"""Makes log texts of values from user code, such as exceptions and outcomes.

Invariant: a text is always returned. A repr is user code as well and may raise, for example that of
a database object whose session is closed. Reporting a failure must not fail.
"""

from __future__ import annotations

from gantrymq.base.errors import GantryError


def text_of(thing: object) -> str:
    """Return the repr, or the type's name if the repr raises."""
    try:
        return repr(thing)
    except Exception as failure:  # raised by user code
        return f"<{type(thing).__name__}; its repr raised {type(failure).__name__}>"


def as_told(error: Exception) -> tuple[str, Exception | None]:
    """Return the text of an error and the error to log with its traceback. An error that is not a
    GantryError may come from user code, so its traceback is logged."""
    return (str(error), None) if isinstance(error, GantryError) else (text_of(error), error)
