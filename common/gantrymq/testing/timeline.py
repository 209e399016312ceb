"""Provides virtual time for everything in one process: a clock and the actions due by it.

    timeline = Timeline()
    timeline.call_at(3.0, action)
    timeline.next_moment()              3.0
    timeline.go_to(3.0)                 calls the action

Invariant: actions are called in the order of their moments, and in the order of the calls to
`call_at` if their moments are equal. The clock never passes an action that was not called.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import final

from gantrymq.base.bounds import NEVER
from gantrymq.runtime.clock import VirtualClock


@final
class Alarm:
    """An action that will be called, unless it is cancelled."""

    __slots__ = ("_number", "action", "moment")

    def __init__(self, moment: float, number: int, action: Callable[[], None]) -> None:
        self.moment = moment
        self._number = number
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        self.action = None

    def __lt__(self, other: Alarm) -> bool:
        return (self.moment, self._number) < (other.moment, other._number)


@final
class Timeline:
    """The clock of one simulation and its planned actions."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self._alarms: list[Alarm] = []
        self._count = 0

    @property
    def now(self) -> float:
        """Seconds since the simulation began."""
        return self.clock.monotonic()

    def call_at(self, moment: float, action: Callable[[], None]) -> Alarm:
        """Call the action at this moment; if the moment is past, the next time the clock is set."""
        self._count += 1
        alarm = Alarm(max(moment, self.now), self._count, action)
        heappush(self._alarms, alarm)
        return alarm

    def next_moment(self) -> float:
        """When the next action is due."""
        alarms = self._alarms
        while alarms and alarms[0].action is None:
            heappop(alarms)
        return alarms[0].moment if alarms else NEVER

    def go_to(self, moment: float) -> None:
        """Set the clock, and call the actions that are due at that moment."""
        assert moment <= self.next_moment(), "something is due before"
        self.clock.advance(moment - self.now)
        while self.next_moment() <= self.now:
            action = heappop(self._alarms).action
            assert action is not None, "cancelled ones are left out"
            action()
