"""Where a member stands with the lease; agent.py says how it gets from one to the other."""

from __future__ import annotations

from enum import Enum


class Phase(Enum):
    """The values are the words in logs."""

    WATCHING = "watching"
    SEEKING = "seeking"
    LEADING = "leading"
    HANDING_OVER = "handing over"
    RELEASED = "released"
