"""Tracks the seats that two processes claim at the same time, for one master and epoch.

A pod that was deleted by force may live on, on a node that is cut off, while its successor has
another disk. One of the two follows, and the other is refused each time that it connects. A new
disk in a seat is refused as well until the old one is out of the in-sync set, which takes a few
seconds: so a conflict is one that lasts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

LASTING_SECONDS: Final = 5.0

# A process that is refused connects again within a second. One that stays away for longer is gone.
OVER_SECONDS: Final = 10.0


@final
@dataclass(slots=True)
class _Refusal:
    """Why the master refuses a process in a seat, and the first and the last time that it did."""

    text: str
    first_at: float
    last_at: float


@final
class SeatConflicts:
    """The refusals of a master in its epoch, at most one for each configured member; the incoming
    links own them."""

    __slots__ = ("_logged", "_refusals")

    def __init__(self) -> None:
        self._logged: Sequence[str] = ()
        """The reasons that `unlogged` found last."""
        self._refusals: dict[int, _Refusal] = {}

    def refused(self, seat: int, text: str, now: float) -> None:
        """Record that the master refused a process that claims this seat."""
        known = self._refusals.get(seat)
        is_same = known is not None and now < known.last_at + OVER_SECONDS
        first_at = known.first_at if known is not None and is_same else now
        self._refusals[seat] = _Refusal(text, first_at, now)

    def lasting(self, now: float) -> Sequence[str]:
        """The reasons of refusals that last, ordered by seat."""
        return [
            each.text
            for _, each in sorted(self._refusals.items())
            if now < each.last_at + OVER_SECONDS and each.last_at >= each.first_at + LASTING_SECONDS
        ]

    def unlogged(self, now: float) -> Sequence[str]:
        """The lasting reasons that the last call did not find. The owner logs them when a process
        connects, as refused processes do repeatedly."""
        lasting = self.lasting(now)
        unlogged = [each for each in lasting if each not in self._logged]
        self._logged = lasting
        return unlogged
