"""Which half messages are open: what the half queue and the op queue together say, in memory.

    first                  halves before it are done with
    a byte for each        from `first` on: 1 where an op says that the half is done with
    newest                 the copy that stands for a transaction, by its first half, while it is
                           open and has been copied
    claimed                transactions that something is being stored for

Whoever stores something for a transaction claims it first, and the first decision is the one that
stays: a transaction that is done with is not open under any of its copies any more.

A byte a message is all that one slow transaction costs those behind it, for a round or two: then
it has been copied, and `first` moves on. Of those that were copied no more than COPIED_MAX are open
at a time: while there are so many, no transaction begins, and what was not copied yet stays where
it is, a byte each, as long as the log has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, final

from gantrymq.base.log_budget import LogBudget
from gantrymq.broker.core.transactions import origin_of
from gantrymq.wire.message.record import Record

# 120 bytes each. A producer answers within seconds; so many are open where one does not answer, or
# nobody is left to answer, for the quarter of an hour until they are given up.
COPIED_MAX: Final = 1_000_000

# People resume one at a time, or all of an outage by a script; an older one that is resumed again
# delivers twice.
RESUMED_MAX: Final = 100_000

_OPEN: Final = b"\0"
_DONE: Final = b"\1"


@final
class OpenHalves:
    """Of one broker. Nothing is known before `begin`, and nothing may be decided before `ready`."""

    __slots__ = (
        "_claimed",
        "_done",
        "_newest",
        "_resumed",
        "first",
        "is_ready",
        "refusal_lines",
        "rollback_lines",
    )

    def __init__(self) -> None:
        self.is_ready = False
        self.first = 0
        self._done = bytearray()
        self._newest: dict[int, int] = {}
        self._claimed: set[int] = set()
        self._resumed: dict[int, None] = {}
        self.refusal_lines = LogBudget()
        """Of the log, for decisions of producers that were refused."""
        self.rollback_lines = LogBudget()
        """Of the log, for rollbacks, and for producers that do not know what to decide yet."""

    def begin(self, first: int) -> None:
        """Read the queues from here on."""
        self.is_ready = False
        self.first = first
        self._done.clear()
        self._newest.clear()
        self._resumed.clear()  # the log may have been cut, and have others at these positions

    def ready(self) -> None:
        """All there was has been read."""
        self.is_ready = True

    def forget(self) -> None:
        """Others write the queues from now on."""
        self.is_ready = False

    # ------------------------------------------------------------------ single halves

    def done(self, number: int) -> None:
        """An op says so. The number lies in the queue: the caller has seen to that."""
        at = number - self.first
        if at < 0:
            return
        missing = at + 1 - len(self._done)
        if missing > 0:
            self._done.extend(bytes(missing))
        self._done[at] = 1
        if self._done[0]:
            stop = self._done.find(_OPEN)
            count = len(self._done) if stop < 0 else stop
            del self._done[:count]
            self.first += count

    def is_done(self, number: int) -> bool:
        at = number - self.first
        return at < 0 or (at < len(self._done) and self._done[at] == 1)

    def next_open(self, number: int, end: int) -> int:
        """The first half from here on that is open; `end` when there is none before it."""
        at = max(number - self.first, 0)
        found = self._done.find(_OPEN, at)
        return min(end, self.first + (found if found >= 0 else max(at, len(self._done))))

    def open_run(self, number: int, end: int) -> int:
        """How many from this open one on are open, without a gap."""
        found = self._done.find(_DONE, number - self.first)
        return (end if found < 0 else min(end, self.first + found)) - number

    # ------------------------------------------------------------------ transactions

    @property
    def copied(self) -> int:
        """How many that were copied are open."""
        return len(self._newest)

    @property
    def room(self) -> int:
        """How many may be copied for the first time; without any, no transaction may begin."""
        return max(0, COPIED_MAX - self.copied)

    def is_copied(self, half: Record) -> bool:
        return origin_of(half) in self._newest

    def stands(self, half: Record) -> None:
        """This one stands for its transaction from now on."""
        origin = origin_of(half)
        if origin != half.queue_offset:
            self._newest[origin] = half.queue_offset

    def newest_before(self, half: Record) -> int | None:
        """Which open half would stand for the transaction if there were not this one."""
        origin = origin_of(half)
        number = self._newest.get(origin, origin)
        return None if number == half.queue_offset or self.is_done(number) else number

    def newest(self, half: Record) -> int:
        """Which half stands for its transaction."""
        return self._newest.get(origin_of(half), half.queue_offset)

    def is_open(self, half: Record) -> bool:
        return not self.is_done(self.newest(half))

    def replaced(self, copy: Record, number: int) -> None:
        """The copy was stored, and an op for the half it replaces."""
        self.stands(copy)
        self.done(number)

    def ended(self, half: Record) -> None:
        """An op was stored for the half that stands for this one's transaction."""
        self.done(self.newest(half))
        self._newest.pop(origin_of(half), None)

    def resume(self, position: int) -> bool:
        """The message given up at this position of the log begins anew; False where it did before:
        the second transaction would deliver it once more."""
        if position in self._resumed:
            return False
        if len(self._resumed) >= RESUMED_MAX:
            del self._resumed[next(iter(self._resumed))]
        self._resumed[position] = None
        return True

    def not_resumed(self, position: int) -> None:
        """It could not be stored."""
        self._resumed.pop(position, None)

    def is_claimed(self, half: Record) -> bool:
        return origin_of(half) in self._claimed

    @contextmanager
    def claim(self, halves: Iterable[Record]) -> Iterator[None]:
        """Nobody else stores something for these meanwhile."""
        origins = {origin_of(half) for half in halves}
        assert self._claimed.isdisjoint(origins), "a transaction is claimed once"
        self._claimed |= origins
        try:
            yield
        finally:
            self._claimed -= origins
