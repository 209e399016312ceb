"""Measures pieces of work of an event loop, and keeps count of those that held it for too long.

    began = stalls.now()
    ...                                       a piece of work, or several
    began = stalls.ended(began, "replication")

While one piece of work runs, no other request is read and no probe is answered. The owner of the
loop passes the clock in: this module reads none by itself. Pieces are turns of the loop, reads of a
connection and slices of a long request, never single messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, final

# Longer than any turn of a busy broker that is as it should be, and short beside the 3 s for which
# producers wait.
STALL_SECONDS: Final = 0.05

# Names of work come from code and from RocketMQ's request codes, of which there are 150. The bound
# holds should a name ever come from a peer by mistake.
NAMES_MAX: Final = 512
OTHER: Final = "other"


def standing() -> float:
    """A clock that stands still: nothing takes long."""
    return 0.0


def _report_nothing(work: str, peer: str, seconds: float) -> None:
    """For owners that only count."""


@final
class StallWatch:
    """The stalls of one event loop. The server owns it and sets `clock` and `report`."""

    __slots__ = ("_counts", "_seconds", "clock", "report", "seconds")

    def __init__(self, clock: Callable[[], float] = standing) -> None:
        self.clock: Callable[[], float] = clock
        self.report: Callable[[str, str, float], None] = _report_nothing
        """Called with the name of the work, the peer that asked for it ("" when none did) and the
        seconds that it took."""
        self.seconds: float = 0.0
        """Of all stalls together."""
        self._counts: dict[str, int] = {}
        self._seconds: dict[str, float] = {}

    def now(self) -> float:
        return self.clock()

    def ended(self, began: float, work: str, peer: str = "") -> float:
        """A piece of work that began then has ended; answers the time, at which the next begins."""
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
        """How many stalls there were, by work."""
        return self._counts

    @property
    def seconds_of(self) -> Mapping[str, float]:
        """How long all stalls took, by work."""
        return self._seconds
