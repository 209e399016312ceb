"""Which message of the timer queue is due in which second, in eight bytes each.

    far     4096 s -> words     second in the stretch, 12 bits | offset, 51 bits | recall, 1 bit
    near    second -> words                                      offset, 51 bits | recall, 1 bit

A dictionary entry for each second of a year would cost more than the words in it; so what lies far
ahead is kept by stretches of about an hour, and each is parted into seconds shortly before it
begins, some of its words at a time.

Invariant: a word is in one place; below `horizon` that is near, from there on far.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Final, final

STRETCH_BITS: Final = 12
STRETCH_SECONDS: Final = 1 << STRETCH_BITS
_SHIFT: Final = 52
_WORD_MASK: Final = (1 << _SHIFT) - 1

# A turn's share of a stretch to part: some milliseconds.
PARTED_A_TURN: Final = 10_000

# How long before it begins a stretch is parted: enough for ten million words.
AHEAD_SECONDS: Final = 120

NEVER: Final = float("inf")


@final
class TimerCalendar:
    """Seconds are those of the wall clock. Words are offset * 2, plus 1 for one that recalls."""

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

    # ------------------------------------------------------------------ parting

    def parts_at(self) -> float:
        """From which second on `part` has something to do."""
        if self._parting[1]:
            return float("-inf")
        return (self._far_keys[0] << STRETCH_BITS) - AHEAD_SECONDS if self._far_keys else NEVER

    def part(self) -> None:
        """Some of the next stretch becomes seconds."""
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
        """The next that has words, among those that are near."""
        return self._near_seconds[0] if self._near_seconds else NEVER

    def take(self) -> tuple[int, list[int]]:
        """That second, and its words in the order of their offsets."""
        second = heappop(self._near_seconds)
        words = sorted(self._near.pop(second))
        self._count -= len(words)
        return second, words

    def whole_from(self, second: int) -> int:
        """The start of its stretch where that is not parted: such a one is taken whole."""
        return second if second < self._horizon else second >> STRETCH_BITS << STRETCH_BITS

    def take_below(self, offset: int, from_second: int) -> Iterator[list[int]]:
        """The offsets below this one that are due from that second on, which is one of
        `whole_from`, in pieces: between two of them others may have their turn, but nothing else
        may be done to the calendar."""
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
