"""Keeps the reason why the last write to the log failed, for as long as it counts."""

from __future__ import annotations

from typing import Final, final

from gantrymq.store.record.put_status import Refused

# After this time a copy whose log could not be written is assumed to be writable, unless something
# shows it earlier.
BELIEVED_SECONDS: Final = 30.0


@final
class LogRefusal:
    """The last failed write to one log. A successful write clears it."""

    __slots__ = ("_at", "_lacked_room", "last")

    def __init__(self) -> None:
        self._at = 0.0
        self._lacked_room = False
        self.last: Refused | None = None

    def note(self, refused: Refused | None, now: float) -> None:
        """Note the result of a write."""
        self.last = refused
        if refused is not None:
            self._at, self._lacked_room = now, False

    def doubt(self, now: float, *, has_room: bool) -> None:
        """Clear the failure of a copy, which may get no more writes that would clear it: once there
        is room again, or after BELIEVED_SECONDS if room was never short."""
        if not has_room:
            self._lacked_room = True
        elif self._lacked_room or now >= self._at + BELIEVED_SECONDS:
            self.last = None
