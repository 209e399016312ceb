"""What one thing counted lately: in the last minute, hour and day, as Java cuts them.

A window is a number of slots: 6 of 10 s, 6 of 10 min, 24 of an hour. It answers for the slots that
are over, so that figures lag by a slot at most; a series that is younger is divided by its age.

Nothing runs while nothing is counted: the first count in a slot notes what the totals were before
it, and what they were at the beginning of a slot without a note is what the next note says.
"""

from __future__ import annotations

from array import array
from typing import Final, final

from gantrymq.wire.bodies.stats import StatsItem

# A note: the slot's number, then calls, messages and bytes before it.
_NOTE: Final = 4


@final
class Window:
    """The notes of one width, oldest first."""

    __slots__ = ("_born", "_notes", "_slot_seconds", "_slots")

    def __init__(self, slots: int, slot_seconds: int, now: float) -> None:
        self._slots = slots
        self._slot_seconds = slot_seconds
        # Java lets a series begin one slot before its first count.
        self._born = int(now) // slot_seconds - 1
        self._notes = array("q")

    def note(self, now: float, calls: int, count: int, size: int) -> None:
        """Something is about to be counted; these are the totals so far."""
        slot = int(now) // self._slot_seconds
        notes = self._notes
        if notes and notes[-_NOTE] == slot:
            return
        notes.extend((slot, calls, count, size))
        while notes[0] < slot - self._slots:
            del notes[:_NOTE]

    def item(self, now: float, totals: tuple[int, int, int], which: int) -> StatsItem:
        """Of counts (1) or bytes (2)."""
        end = int(now) // self._slot_seconds
        begin = max(self._born, end - self._slots)
        first, last = self._before(begin, totals), self._before(end, totals)
        total, calls = last[which] - first[which], last[0] - first[0]
        seconds = max(1, end - begin) * self._slot_seconds
        return StatsItem(total, total / seconds, total / calls if calls else 0.0)

    def _before(self, slot: int, totals: tuple[int, int, int]) -> tuple[int, int, int]:
        """The totals when this slot began."""
        notes = self._notes
        for at in range(0, len(notes), _NOTE):
            if notes[at] >= slot:
                return notes[at + 1], notes[at + 2], notes[at + 3]
        return totals


@final
class Series:
    """Of one topic, or of one group in a topic. Counted for each request, hence plain."""

    __slots__ = ("_day", "_hour", "_minute", "_noted_until", "calls", "count", "size")

    def __init__(self, now: float) -> None:
        self.calls = 0
        self.count = 0
        self.size = 0
        self._minute = Window(6, 10, now)
        self._hour = Window(6, 600, now)
        self._day = Window(24, 3600, now)
        self._noted_until = 0.0

    def add(self, now: float, count: int, size: int, calls: int = 1) -> None:
        if now >= self._noted_until:
            self._note(now)
        self.calls += calls
        self.count += count
        self.size += size

    def _note(self, now: float) -> None:
        for window in (self._minute, self._hour, self._day):
            window.note(now, self.calls, self.count, self.size)
        # Slots of all windows begin where a slot of the shortest does.
        self._noted_until = float(int(now) // 10 * 10 + 10)

    def idle_seconds(self, now: float) -> float:
        """Since the end of the slot in which it counted last."""
        return now - self._noted_until

    def counts(self, now: float) -> tuple[StatsItem, StatsItem, StatsItem]:
        """Messages in the last minute, hour and day."""
        return self._items(now, 1)

    def sizes(self, now: float) -> tuple[StatsItem, StatsItem, StatsItem]:
        """Bytes in the last minute, hour and day."""
        return self._items(now, 2)

    def per_second(self, now: float) -> float:
        """Messages a second in the last minute."""
        return self._minute.item(now, (self.calls, self.count, self.size), 1).tps

    def _items(self, now: float, which: int) -> tuple[StatsItem, StatsItem, StatsItem]:
        totals = (self.calls, self.count, self.size)
        minute, hour, day = (
            window.item(now, totals, which) for window in (self._minute, self._hour, self._day)
        )
        return minute, hour, day
