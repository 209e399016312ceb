"""Counts the waiting messages in each stretch of the timer queue, and chooses stretches to roll.

A start reads the queue again from the first message that still waits, and the log deletes old
messages. A stretch that is old, or whose messages are nearly all delivered, is therefore rolled:
its waiting messages are written again at the queue's end.

Invariant: no message waits below `low`. A stretch begins where the one before ends.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, final

# Stretches within a roll's age, so that one roll covers a small part of all waiting messages.
SPANS: Final = 256
SPAN_MS_MIN: Final = 600_000

# A stretch with a smaller waiting part than 1/16 is rolled before it reaches the roll's age, once
# it is as old as a stretch is long. So a start reads at most 16 times the waiting messages, and
# rolling adds at most 1/16 to the normal writes.
SPARSE: Final = 16


@final
class _Span:
    """A stretch of the timer queue."""

    __slots__ = ("count", "is_rolled", "start", "stored_ms", "waiting")

    def __init__(self, start: int, stored_ms: int) -> None:
        self.start = start
        self.stored_ms = stored_ms
        self.count = 0
        self.waiting = 0
        self.is_rolled = False


@final
class TimerSpans:
    """The stretches of the messages taken from the queue since `low`."""

    __slots__ = ("_roll_ms", "_span_ms", "_spans", "_starts")

    def __init__(self, roll_ms: int) -> None:
        self.roll_after(roll_ms)
        self._spans: list[_Span] = []
        self._starts: list[int] = []

    def roll_after(self, roll_ms: int) -> None:
        """Set the age at which messages are rolled; existing stretches keep their length."""
        self._roll_ms = roll_ms
        self._span_ms = max(SPAN_MS_MIN, roll_ms // SPANS)

    def add(self, offset: int, stored_ms: int, *, waits: bool) -> None:
        """Add the next message of the queue."""
        spans = self._spans
        last = spans[-1] if spans else None
        if last is None or last.is_rolled or stored_ms - last.stored_ms >= self._span_ms:
            spans.append(_Span(offset, stored_ms))
            self._starts.append(offset)
        spans[-1].count += 1
        spans[-1].waiting += waits

    def done(self, offset: int) -> None:
        """Record that the message at this offset does not wait any more."""
        self._spans[bisect_right(self._starts, offset) - 1].waiting -= 1

    def low(self, end: int) -> int:
        """The start of the first stretch with a waiting message; `end` when there is none."""
        spans = self._spans
        done = 0
        while done < len(spans) and not spans[done].waiting:
            done += 1
        del spans[:done]
        del self._starts[:done]
        return self._starts[0] if spans else end

    def next_roll(self, wall_ms: int, end: int) -> int | None:
        """The offset below which to roll all waiting messages; None when there is nothing to
        roll."""
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
