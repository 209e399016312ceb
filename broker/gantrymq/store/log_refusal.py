"""Why the log could not be written last, for as long as it is to be believed."""

from __future__ import annotations

from typing import Final, final

from gantrymq.store.put import Refused

# A copy whose log could not be written is believed to be able to after so long, where nothing shows
# it sooner.
BELIEVED_SECONDS: Final = 30.0


@final
class LogRefusal:
    """Of one log. What could be written ends it."""

    __slots__ = ("_at", "_lacked_room", "last")

    def __init__(self) -> None:
        self._at = 0.0
        self._lacked_room = False
        self.last: Refused | None = None

    def note(self, refused: Refused | None, now: float) -> None:
        """What became of a write, just now."""
        self.last = refused
        if refused is not None:
            self._at, self._lacked_room = now, False

    def doubt(self, now: float, *, has_room: bool) -> None:
        """Of a copy, to which nothing may come that would show that the log can be written: it is
        forgotten once there is room again; where that was never short, after a while."""
        if not has_room:
            self._lacked_room = True
        elif self._lacked_room or now >= self._at + BELIEVED_SECONDS:
            self.last = None
