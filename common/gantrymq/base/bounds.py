"""Defines the bounds of Java's integers, and the time that never comes."""

from __future__ import annotations

from typing import Final

INT_MIN: Final = -0x80000000
INT_MAX: Final = 0x7FFFFFFF
LONG_MIN: Final = -0x8000000000000000
LONG_MAX: Final = 0x7FFFFFFFFFFFFFFF

# A deadline of work that is not planned: later than every other time.
NEVER: Final = float("inf")
