"""Measures pieces of work on an event loop, and counts those that hold it for too long.

    began = stalls.now()
    ...                                       a piece of work, or several
    began = stalls.ended(began, "replication")

While a piece of work runs, no other request is read and no probe is answered. The owner of the loop
passes the clock in: this module reads none itself. Pieces are turns of the loop, reads of a
connection and slices of a long request, never single messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, final

# Longer than any normal turn of a busy broker, and short compared with the 3 s for which producers
# wait.
STALL_SECONDS: Final = 0.05

# Names of work come from code and from RocketMQ's request codes, of which there are 150. The bound
# limits memory if a name ever comes from a peer by mistake.
NAMES_MAX: Final = 512
OTHER: Final = "other"


def standing() -> float:
    """A clock that stands still, so that no work counts as a stall."""
    return 0.0


def _report_nothing(work: str, peer: str, seconds: float) -> None:
    """The default report; for owners that only count."""


@final
class StallWatch:
    """The stalls of one event loop. The server owns it and sets `clock` and `report`."""

    __slots__ = ("_counts", "_seconds", "clock", "report", "seconds")

    def __init__(self, clock: Callable[[], float] = standing) -> None:
        self.clock: Callable[[], float] = clock
        self.report: Callable[[str, str, float], None] = _report_nothing
        """Called with the name of the work, the peer that requested it ("" if none did), and its
        seconds."""
        self.seconds: float = 0.0
        """The total duration of all stalls."""
        self._counts: dict[str, int] = {}
        self._seconds: dict[str, float] = {}

    def now(self) -> float:
        return self.clock()

    def ended(self, began: float, work: str, peer: str = "") -> float:
        """End a piece of work that began at `began`; returns the time, when the next piece
        begins."""
        now = self.clock()
        if now - began >= STALL_SECONDS:
            self.note(work, peer, now - began)
        return now

    def note(self, work: str, peer: str, seconds: float, label: str = "") -> None:
        """Count a stall under `label`, by default under the name of the work."""
        label = label or work
        if label not in self._counts and len(self._counts) >= NAMES_MAX:
            label = OTHER
        self.seconds += seconds
        self._counts[label] = self._counts.get(label, 0) + 1
        self._seconds[label] = self._seconds.get(label, 0.0) + seconds
        self.report(work, peer, seconds)

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of stalls by work."""
        return self._counts

    @property
    def seconds_of(self) -> Mapping[str, float]:
        """The total duration of stalls by work, in seconds."""
        return self._seconds
