"""Defines the states of a member in the election; agent.py describes the transitions."""

from __future__ import annotations

from enum import Enum


class Phase(Enum):
    """The values appear in log lines."""

    WATCHING = "watching"
    SEEKING = "seeking"
    LEADING = "leading"
    HANDING_OVER = "handing over"
    RELEASED = "released"
