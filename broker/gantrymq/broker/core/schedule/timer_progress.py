"""Describes the progress of timers: which messages of the timer queue need no delivery any more.

    {"delivered":second,"low":offset,"taken":offset,         config/timerOffset.json
     "earlier":[[offset,second],...],                        only after the clock went back
     "rolled":[[offset,second],...]}                         only after messages were rolled

A master replicates the same to its group. A start reads the queue again from `low`. These messages
need no delivery:

    below `taken`, due up to `delivered`                     delivered
    below an offset of `earlier`, due up to its second       delivered before the clock went back
    below an offset of `rolled`, due from its second on      written again at the queue's end

Invariant: a fact stays in the file until another entry implies it, or until no waiting message can
be subject to it. Files of earlier releases have three keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, final

from gantrymq.base.errors import RemoteError
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import Json, JsonObject, list_of, long_field, long_of, object_of

# `rolled` has one entry a minute, and those of the last six minutes matter. A clock seldom goes
# back. A message of an entry dropped beyond this limit is delivered twice at worst.
MARKS_MAX: Final = 16

Mark: TypeAlias = tuple[int, int]
"""An offset in the timer queue, and a second of the wall clock."""


@final
@dataclass(frozen=True, slots=True)
class TimerProgress:
    """The progress of timers: offsets in the timer queue, seconds of the wall clock."""

    delivered: int = 0
    low: int = 0
    taken: int = 0
    earlier: tuple[Mark, ...] = ()
    rolled: tuple[Mark, ...] = ()

    def is_done(self, offset: int, second: int) -> bool:
        """Whether the message at this offset, due in this second, needs no delivery."""
        return (
            (offset < self.taken and second <= self.delivered)
            or any(offset < below and second <= until for below, until in self.earlier)
            or any(offset < below and second >= start for below, start in self.rolled)
        )

    def come_to(self, second: int, low: int, taken: int) -> TimerProgress:
        """The progress once everything taken and due up to `second` is delivered, and none waits
        below `low`."""
        said = [*self.earlier, (self.taken, self.delivered), (taken, second)]
        *earlier, (taken, delivered) = _outermost(said)
        return TimerProgress(delivered, low, taken, _above(low, earlier), _above(low, self.rolled))

    def rolled_below(self, offset: int, start: int, second: int) -> TimerProgress:
        """The progress once all messages below `offset` that are due from `start` on are written
        again.

        `second` is the current time.
        """
        said = [(below, -due) for below, due in (*self.rolled, (offset, start))]
        rolled = [(below, -due) for below, due in _outermost(said)]
        # Messages that only the first entry covers are delivered by now.
        while len(rolled) > 1 and rolled[1][1] <= second:
            del rolled[0]
        return replace(self, rolled=_above(self.low, rolled))

    def missing(self, start: int, end: int) -> int:
        """How many waiting messages are missing from a queue that has only those from `start` to
        `end`. This is an upper bound, since some of them may be delivered already. A place that
        was never written knows of no messages, and misses none."""
        deleted = max(0, start - self.low) if self.taken else 0
        return deleted + max(0, self.taken - max(self.low, end))

    def within(self, start: int, end: int) -> TimerProgress:
        """The same place for a queue that has only the messages from `start` to `end`. Marks of
        rolled messages beyond `end` are dropped: the log was emptied, and new messages have the
        offsets of old ones."""
        return TimerProgress(
            self.delivered,
            min(max(self.low, start), end),
            min(self.taken, end),
            tuple([(min(below, end), until) for below, until in self.earlier]),
            tuple([mark for mark in self.rolled if mark[0] <= end]),
        )

    def bean(self) -> JsonObject:
        bean: JsonObject = {"delivered": self.delivered, "low": self.low, "taken": self.taken}
        for name, marks in (("earlier", self.earlier), ("rolled", self.rolled)):
            if marks:
                bean[name] = [[offset, second] for offset, second in marks]
        return bean

    @classmethod
    def decode(cls, content: bytes) -> TimerProgress:
        """Decode the file. Raises RemoteError for malformed content."""
        bean = object_of(javajson.loads(content, len(content) * 2), "timerOffset.json")
        return cls(
            long_field(bean, "delivered"),
            max(0, long_field(bean, "low")),
            max(0, long_field(bean, "taken")),
            _marks(bean.get("earlier"), "earlier"),
            _marks(bean.get("rolled"), "rolled"),
        )


def _outermost(marks: Iterable[Mark]) -> list[Mark]:
    """Remove marks whose two numbers are both covered by another mark; return them by rising
    offset."""
    kept: list[Mark] = []
    for mark in sorted(marks, reverse=True):
        if not kept or mark[1] > kept[-1][1]:
            kept.append(mark)
    return kept[::-1]


def _above(low: int, marks: Iterable[Mark]) -> tuple[Mark, ...]:
    """The marks that cover messages from `low` on."""
    return tuple([mark for mark in marks if mark[0] > low][-MARKS_MAX:])


def _marks(value: Json, name: str) -> tuple[Mark, ...]:
    marks = []
    for each in list_of(value, name):
        numbers = [long_of(number, name) for number in list_of(each, name)]
        if len(numbers) != 2:
            raise RemoteError(f"{name} has {len(numbers)} numbers where two belong")
        marks.append((numbers[0], numbers[1]))
    return tuple(marks[-MARKS_MAX:])
