"""Bounds the audit entries that peers can cause without being allowed to do anything."""

from __future__ import annotations

from typing import Final, final

# An administrator's mistakes fit in; an attack of a day fills at most some 20 MB.
ATTEMPTS_MAX: Final = 60
SECONDS: Final = 60.0


@final
class RefusedAttempts:
    """Counts the entries of refused attempts in the current minute. Owned by one server's core."""

    __slots__ = ("_count", "_ends_at", "_left_out")

    def __init__(self) -> None:
        self._ends_at: float = 0.0
        self._count: int = 0
        self._left_out: int = 0

    def allows(self, now: float) -> bool:
        """Whether this attempt has an entry; else it is counted as left out."""
        if now >= self._ends_at:
            self._ends_at = now + SECONDS
            self._count = 0
        if self._count >= ATTEMPTS_MAX:
            self._left_out += 1
            return False
        self._count += 1
        return True

    def take_left_out(self) -> int:
        """How many were left out since this was asked before."""
        left_out, self._left_out = self._left_out, 0
        return left_out
