"""Holds the timer messages that wait, as `State` shares them with the sends that add more."""

from __future__ import annotations

from typing import final

from gantrymq.broker.core.schedule.timer_calendar import TimerCalendar


@final
class WaitingTimers:
    """The waiting timers of one broker, owned by its `State`. The timer service fills and empties
    it."""

    __slots__ = ("calendar", "rolled", "rolling")

    def __init__(self) -> None:
        self.calendar: TimerCalendar = TimerCalendar()
        self.rolling: list[int] = []
        """The offsets of the messages that are being rolled."""
        self.rolled: int = 0
        """How many of these have been rolled."""

    @property
    def count(self) -> int:
        """How many timers wait."""
        return len(self.calendar) + len(self.rolling) - self.rolled

    def clear(self) -> None:
        self.calendar = TimerCalendar()
        self.rolling = []
        self.rolled = 0
