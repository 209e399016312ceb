"""Keeps which messages of the timer queue are due in which second, in eight bytes each.

    far     4096 s -> words     second in the stretch, 12 bits | offset, 51 bits | recall, 1 bit
    near    second -> words                                      offset, 51 bits | recall, 1 bit

A dictionary entry for each second of a year would cost more than the words in it. Distant times are
therefore kept in stretches of 4096 s, about an hour. Shortly before a stretch begins, `part` splits
it into seconds, some of its words at a time.

Invariant: a word is in one place: near if its second is below `_horizon`, else far.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Final, final

from gantrymq.base.bounds import NEVER

STRETCH_BITS: Final = 12
STRETCH_SECONDS: Final = 1 << STRETCH_BITS
_SHIFT: Final = 52
_WORD_MASK: Final = (1 << _SHIFT) - 1

# The words that one turn splits: some milliseconds.
PARTED_A_TURN: Final = 10_000

# How long before its beginning a stretch is split: enough for ten million words.
AHEAD_SECONDS: Final = 120


@final
class TimerCalendar:
    """The timers of one service. Seconds are wall-clock time; words are offset * 2, plus 1 for a
    recall."""

    __slots__ = ("_count", "_far", "_far_keys", "_horizon", "_near", "_near_seconds", "_parting")

    def __init__(self) -> None:
        self._count = 0
        self._horizon = 0
        self._near: dict[int, array[int]] = {}
        self._near_seconds: list[int] = []
        self._far: dict[int, array[int]] = {}
        self._far_keys: list[int] = []
        self._parting: tuple[int, array[int]] = (0, array("Q"))

    def __len__(self) -> int:
        return self._count

    def add(self, second: int, offset: int, *, is_recall: bool = False) -> None:
        self._count += 1
        word = offset << 1 | is_recall
        if second < self._horizon:
            self._add_near(second, word)
            return
        key = second >> STRETCH_BITS
        words = self._far.get(key)
        if words is None:
            words = self._far[key] = array("Q")
            heappush(self._far_keys, key)
        words.append((second & STRETCH_SECONDS - 1) << _SHIFT | word)

    def _add_near(self, second: int, word: int) -> None:
        words = self._near.get(second)
        if words is None:
            words = self._near[second] = array("Q")
            heappush(self._near_seconds, second)
        words.append(word)

    # ------------------------------------------------------------------ splitting

    def parts_at(self) -> float:
        """From which second on `part` has something to do."""
        if self._parting[1]:
            return float("-inf")
        return (self._far_keys[0] << STRETCH_BITS) - AHEAD_SECONDS if self._far_keys else NEVER

    def part(self) -> None:
        """Split a part of the next stretch into seconds."""
        if not self._parting[1]:
            key = heappop(self._far_keys)
            self._parting = key << STRETCH_BITS, self._far.pop(key)
            self._horizon = (key + 1) << STRETCH_BITS
        start, words = self._parting
        for word in words[-PARTED_A_TURN:]:
            self._add_near(start + (word >> _SHIFT), word & _WORD_MASK)
        del words[-PARTED_A_TURN:]

    # ------------------------------------------------------------------ taking

    def next_second(self) -> float:
        """The next of the near seconds that has words."""
        return self._near_seconds[0] if self._near_seconds else NEVER

    def take(self) -> tuple[int, list[int]]:
        """Remove and return that second, and its words in the order of their offsets."""
        second = heappop(self._near_seconds)
        words = sorted(self._near.pop(second))
        self._count -= len(words)
        return second, words

    def whole_from(self, second: int) -> int:
        """The second itself, or the start of its stretch where that is not split: `take_below`
        takes it whole."""
        return second if second < self._horizon else second >> STRETCH_BITS << STRETCH_BITS

    def take_below(self, offset: int, from_second: int) -> Iterator[list[int]]:
        """Remove the offsets below `offset` that are due from `from_second` on; yield them in
        pieces.

        `from_second` is a result of `whole_from`. The event loop may run other work between two
        pieces, but nothing else may change the calendar.
        """
        limit = offset << 1
        for words in [words for key, words in self._near.items() if key >= from_second]:
            yield from self._strip(words, limit)
        first_key = from_second >> STRETCH_BITS
        for words in [words for key, words in self._far.items() if key >= first_key]:
            yield from self._strip(words, limit)

    def _strip(self, words: array[int], limit: int) -> Iterator[list[int]]:
        kept = array("Q")
        for start in range(0, len(words), PARTED_A_TURN):
            piece = words[start : start + PARTED_A_TURN]
            kept.extend([word for word in piece if word & _WORD_MASK >= limit])
            yield [(word & _WORD_MASK) >> 1 for word in piece if word & _WORD_MASK < limit]
        self._count -= len(words) - len(kept)
        words[:] = kept


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
