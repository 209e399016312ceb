"""How many messages still wait in each stretch of the timer queue, to know what is done with.

The queue is read again at a start, from the first message that still waits; and the log forgets
what is old. So a stretch whose messages are nearly all delivered, or that gets old, is rolled:
those of it that still wait are written again at the queue's end.

Invariant: nothing waits below `low`. A stretch begins where the one before ends.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, final

# Stretches of a roll's age: what is rolled at once is a small part of all that waits.
SPANS: Final = 256
SPAN_MS_MIN: Final = 600_000

# A stretch of which less than this part waits is rolled however young it is: so a start reads at
# most that many times what waits, and rolling adds at most that part to what is written anyway.
SPARSE: Final = 16


@final
class _Span:
    """One stretch."""

    __slots__ = ("count", "is_rolled", "start", "stored_ms", "waiting")

    def __init__(self, start: int, stored_ms: int) -> None:
        self.start = start
        self.stored_ms = stored_ms
        self.count = 0
        self.waiting = 0
        self.is_rolled = False


@final
class TimerSpans:
    """Of the messages taken from the queue since `low`."""

    __slots__ = ("_roll_ms", "_span_ms", "_spans", "_starts")

    def __init__(self, roll_ms: int) -> None:
        self.roll_after(roll_ms)
        self._spans: list[_Span] = []
        self._starts: list[int] = []

    def roll_after(self, roll_ms: int) -> None:
        """A message is rolled when it was stored that long ago. Stretches that there are stay."""
        self._roll_ms = roll_ms
        self._span_ms = max(SPAN_MS_MIN, roll_ms // SPANS)

    def add(self, offset: int, stored_ms: int, *, waits: bool) -> None:
        """The next message of the queue."""
        spans = self._spans
        last = spans[-1] if spans else None
        if last is None or last.is_rolled or stored_ms - last.stored_ms >= self._span_ms:
            spans.append(_Span(offset, stored_ms))
            self._starts.append(offset)
        spans[-1].count += 1
        spans[-1].waiting += waits

    def done(self, offset: int) -> None:
        """It does not wait any more."""
        self._spans[bisect_right(self._starts, offset) - 1].waiting -= 1

    def low(self, end: int) -> int:
        """The start of the first stretch where something waits; `end` when nothing does."""
        spans = self._spans
        done = 0
        while done < len(spans) and not spans[done].waiting:
            done += 1
        del spans[:done]
        del self._starts[:done]
        return self._starts[0] if spans else end

    def next_roll(self, wall_ms: int, end: int) -> int | None:
        """Below which offset to roll what waits now; None when there is nothing to do."""
        for number, span in enumerate(self._spans):
            if span.is_rolled:
                continue
            age_ms = wall_ms - span.stored_ms
            is_sparse = age_ms >= self._span_ms and span.waiting * SPARSE < span.count
            if age_ms < self._roll_ms and not is_sparse:
                return None
            span.is_rolled = True
            return self._starts[number + 1] if number + 1 < len(self._starts) else end
        return None
