"""How far timers have come: what of their queue is done with. A master tells its group the same.

    {"delivered":second,"low":offset,"taken":offset,         config/timerOffset.json
     "earlier":[[offset,second],...],                        only after the clock went back
     "rolled":[[offset,second],...]}                         only after messages were rolled

The queue is read again from `low`, and of that is done with:

    below `taken`, due up to `delivered`                     delivered
    below an offset of `earlier`, due up to its second       delivered before the clock went back
    below an offset of `rolled`, due from its second on      written again, further behind

Invariant: what was true once stays said until something else says as much, or nothing can wait any
more of what it speaks of. Files of before have three keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, final

from gantrymq.base.errors import RemoteError
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import Json, JsonObject, list_of, long_field, long_of, object_of

# Of `rolled` there is one a minute, and those of the last six minutes count. A clock goes back
# seldom, and what is forgotten beyond this comes twice at worst.
MARKS_MAX: Final = 16

Mark: TypeAlias = tuple[int, int]
"""An offset, and a second."""


@final
@dataclass(frozen=True, slots=True)
class TimerPlace:
    """Offsets are those of the timer queue, seconds those of the wall clock."""

    delivered: int = 0
    low: int = 0
    taken: int = 0
    earlier: tuple[Mark, ...] = ()
    rolled: tuple[Mark, ...] = ()

    def is_done(self, offset: int, second: int) -> bool:
        """Whether the message there, due then, need not be waited for."""
        return (
            (offset < self.taken and second <= self.delivered)
            or any(offset < below and second <= until for below, until in self.earlier)
            or any(offset < below and second >= start for below, start in self.rolled)
        )

    def come_to(self, second: int, low: int, taken: int) -> TimerPlace:
        """Up to that second all that was taken is delivered, and nothing waits below `low`."""
        said = [*self.earlier, (self.taken, self.delivered), (taken, second)]
        *earlier, (taken, delivered) = _outermost(said)
        return TimerPlace(delivered, low, taken, _above(low, earlier), _above(low, self.rolled))

    def rolled_below(self, offset: int, start: int, second: int) -> TimerPlace:
        """Now, at `second`, all below `offset` that was due from `start` on lies further behind."""
        said = [(below, -due) for below, due in (*self.rolled, (offset, start))]
        rolled = [(below, -due) for below, due in _outermost(said)]
        # What the first says more than the next one is delivered.
        while len(rolled) > 1 and rolled[1][1] <= second:
            del rolled[0]
        return replace(self, rolled=_above(self.low, rolled))

    def missing(self, start: int, end: int) -> int:
        """How many waiting messages are missing from a queue that has only those from `start` to
        `end`. This is an upper bound, since some of them may be delivered already. A place that
        was never written knows of no messages, and misses none."""
        deleted = max(0, start - self.low) if self.taken else 0
        return deleted + max(0, self.taken - max(self.low, end))

    def within(self, start: int, end: int) -> TimerPlace:
        """The same place for a queue that has only the messages from `start` to `end`. Marks of
        rolled messages beyond `end` are dropped: the log was emptied, and new messages have the
        offsets of old ones."""
        return TimerPlace(
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
    def decode(cls, content: bytes) -> TimerPlace:
        """RemoteError where it is no such file."""
        bean = object_of(javajson.loads(content, len(content) * 2), "timerOffset.json")
        return cls(
            long_field(bean, "delivered"),
            max(0, long_field(bean, "low")),
            max(0, long_field(bean, "taken")),
            _marks(bean.get("earlier"), "earlier"),
            _marks(bean.get("rolled"), "rolled"),
        )


def _outermost(marks: Iterable[Mark]) -> list[Mark]:
    """Without those of which another one has both numbers, or larger ones; by rising offsets."""
    kept: list[Mark] = []
    for mark in sorted(marks, reverse=True):
        if not kept or mark[1] > kept[-1][1]:
            kept.append(mark)
    return kept[::-1]


def _above(low: int, marks: Iterable[Mark]) -> tuple[Mark, ...]:
    """Those that say something of what is read again."""
    return tuple([mark for mark in marks if mark[0] > low][-MARKS_MAX:])


def _marks(value: Json, name: str) -> tuple[Mark, ...]:
    marks = []
    for each in list_of(value, name):
        numbers = [long_of(number, name) for number in list_of(each, name)]
        if len(numbers) != 2:
            raise RemoteError(f"{name} has {len(numbers)} numbers where two belong")
        marks.append((numbers[0], numbers[1]))
    return tuple(marks[-MARKS_MAX:])
