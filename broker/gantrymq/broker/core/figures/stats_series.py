"""Counts calls, messages and bytes of one item over the last minute, hour and day, as Java does.

A window is a number of slots: 6 of 10 s, 6 of 10 min, 24 of an hour. Figures cover completed slots,
so they lag by one slot at most. A series that is younger than the window is divided by its age.

Nothing runs while nothing is counted. The first count in a slot notes the totals before it; the
totals at the start of a slot without a note are those of the next note.

A window's notes, oldest first, are bytes: tens of thousands of series must be one object each for
the garbage collector, which stops the event loop while it traverses them.

    int64 slot | int64 calls | int64 messages | int64 bytes, before the slot
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple, final

from gantrymq.wire.bodies.consuming.stats import StatsItem

_NOTE: Final = struct.Struct("<4q")
_SLOT: Final = struct.Struct("<q")


class _Window(NamedTuple):
    slots: int
    slot_seconds: int


_MINUTE: Final = _Window(6, 10)
_HOUR: Final = _Window(6, 600)
_DAY: Final = _Window(24, 3600)


@final
class Series:
    """The counters of one topic, or of one group in a topic; a plain class since each request
    counts."""

    __slots__ = ("_began", "_day", "_hour", "_minute", "_noted_until", "calls", "count", "size")

    def __init__(self, now: float) -> None:
        self.calls = 0
        self.count = 0
        self.size = 0
        self._began = int(now)
        self._minute = bytearray()
        self._hour = bytearray()
        self._day = bytearray()
        self._noted_until = 0.0

    def add(self, now: float, count: int, size: int, calls: int = 1) -> None:
        if now >= self._noted_until:
            self._note(now)
        self.calls += calls
        self.count += count
        self.size += size

    def idle_seconds(self, now: float) -> float:
        """Seconds since the end of the slot in which something was counted last."""
        return now - self._noted_until

    def counts(self, now: float) -> tuple[StatsItem, StatsItem, StatsItem]:
        """Messages in the last minute, hour and day."""
        return self._items(now, 1)

    def sizes(self, now: float) -> tuple[StatsItem, StatsItem, StatsItem]:
        """Bytes in the last minute, hour and day."""
        return self._items(now, 2)

    def per_second(self, now: float) -> float:
        """Messages a second in the last minute."""
        return self._item(_MINUTE, self._minute, now, 1).tps

    def _items(self, now: float, which: int) -> tuple[StatsItem, StatsItem, StatsItem]:
        minute, hour, day = (
            self._item(window, notes, now, which) for window, notes in self._windows()
        )
        return minute, hour, day

    def _windows(self) -> Iterator[tuple[_Window, bytearray]]:
        yield _MINUTE, self._minute
        yield _HOUR, self._hour
        yield _DAY, self._day

    def _note(self, now: float) -> None:
        """Note the totals before the first count in a slot."""
        for window, notes in self._windows():
            slot = int(now) // window.slot_seconds
            if notes and _slot(notes, len(notes) - _NOTE.size) == slot:
                continue
            notes.extend(_NOTE.pack(slot, self.calls, self.count, self.size))
            while _slot(notes, 0) < slot - window.slots:
                del notes[: _NOTE.size]
        # Slots of all windows begin where a slot of the shortest does.
        self._noted_until = float(int(now) // 10 * 10 + 10)

    def _item(self, window: _Window, notes: bytearray, now: float, which: int) -> StatsItem:
        """The figures of one window, for messages (`which` = 1) or bytes (2)."""
        end = int(now) // window.slot_seconds
        # Java lets a series begin one slot before its first count.
        begin = max(self._began // window.slot_seconds - 1, end - window.slots)
        first, last = self._before(notes, begin), self._before(notes, end)
        total, calls = last[which] - first[which], last[0] - first[0]
        seconds = max(1, end - begin) * window.slot_seconds
        return StatsItem(total, total / seconds, total / calls if calls else 0.0)

    def _before(self, notes: bytearray, slot: int) -> tuple[int, int, int]:
        """The totals at the start of this slot."""
        for noted, calls, count, size in _NOTE.iter_unpack(notes):
            if noted >= slot:
                return calls, count, size
        return self.calls, self.count, self.size


def _slot(notes: bytearray, at: int) -> int:
    slot: int = _SLOT.unpack_from(notes, at)[0]
    return slot
