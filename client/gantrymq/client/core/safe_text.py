"""Texts of what users' code hands us: exceptions it raises, outcomes it returns.

Invariant: a text is always got. A repr is the user's code as well, and may fail: that of an object
of a database, say, whose session is closed. Whoever only wants to tell of a failure must not fail
for it.
"""

from __future__ import annotations


def text_of(thing: object) -> str:
    """Its repr; where that fails, what kind of thing it is."""
    try:
        return repr(thing)
    except Exception as failure:  # of the user's code
        return f"<{type(thing).__name__}; its repr raised {type(failure).__name__}>"
