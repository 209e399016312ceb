"""Tracks in memory which half messages are open, from the half queue and the op queue.

A half is closed when its transaction is committed, rolled back or given up, or when a copy of the
half replaces it. Every closed half has an op message.

    first                  halves before it are closed
    a byte for each        from `first` on: 1 where an op message says that the half is closed
    newest                 by a transaction's first half, the copy that represents the transaction,
                           while it is open and has been copied
    claimed                transactions for which something is being stored

A task claims a transaction before it stores anything for it, and the first decision is final: a
decided transaction is not open under any of its copies.

One slow transaction costs one byte for each message after it, for a round or two; then it has been
copied and `first` moves on. At most COPIED_MAX copied transactions are open at a time. At that
limit no transaction begins, and halves that are not copied yet stay in place, one byte each, as
long as the log has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, final

from gantrymq.base.log_lines import LogBudget
from gantrymq.wire.header_fields import parse_int64
from gantrymq.wire.message import properties
from gantrymq.wire.message.property_names import TRANSACTION_PREPARED_QUEUE_OFFSET
from gantrymq.wire.message.record import Record

# 120 bytes each. A producer answers within seconds. The limit is reached when a producer does not
# answer, or is gone, during the quarter of an hour until its transactions are given up.
COPIED_MAX: Final = 1_000_000

# Operators resume transactions one by one, or all of an outage by a script. If a forgotten older
# one is resumed again, its message is delivered twice.
RESUMED_MAX: Final = 100_000

_OPEN: Final = b"\0"
_DONE: Final = b"\1"


def origin_of(half: Record) -> int:
    """The queue offset of the transaction's first half; Java marks only some copies."""
    text = properties.get(half.properties, TRANSACTION_PREPARED_QUEUE_OFFSET)
    try:
        origin = -1 if text is None else parse_int64(text)
    except ValueError:
        origin = -1
    return origin if 0 <= origin < half.queue_offset else half.queue_offset


@final
class OpenHalves:
    """The broker's open transactions; unknown before `begin`, and not to be decided before
    `ready`."""

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
        """Limits log lines about refused decisions of producers."""
        self.rollback_lines = LogBudget()
        """Limits log lines about rollbacks, and about producers that have not decided yet."""

    def begin(self, first: int) -> None:
        """Start with the queues from this half on."""
        self.is_ready = False
        self.first = first
        self._done.clear()
        self._newest.clear()
        self._resumed.clear()  # after a truncation the log has others there

    def ready(self) -> None:
        """Mark both queues as completely read."""
        self.is_ready = True

    def forget(self) -> None:
        """Stop tracking: another broker writes the queues from now on."""
        self.is_ready = False

    # ------------------------------------------------------------------ single halves

    def done(self, number: int) -> None:
        """Mark a half as closed, as an op says. The caller has checked that `number` is in the
        queue."""
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
        """The first open half at or after `number`; `end` when there is none before it."""
        at = max(number - self.first, 0)
        found = self._done.find(_OPEN, at)
        return min(end, self.first + (found if found >= 0 else max(at, len(self._done))))

    def open_run(self, number: int, end: int) -> int:
        """The number of consecutive open halves from the open half `number` on."""
        found = self._done.find(_DONE, number - self.first)
        return (end if found < 0 else min(end, self.first + found)) - number

    # ------------------------------------------------------------------ transactions

    @property
    def copied(self) -> int:
        """The number of open transactions that have been copied."""
        return len(self._newest)

    @property
    def room(self) -> int:
        """How many more transactions may be copied; at 0, no transaction may begin."""
        return max(0, COPIED_MAX - self.copied)

    def is_copied(self, half: Record) -> bool:
        return origin_of(half) in self._newest

    def stands(self, half: Record) -> None:
        """Make this half the one that represents its transaction."""
        origin = origin_of(half)
        if origin != half.queue_offset:
            self._newest[origin] = half.queue_offset

    def newest_before(self, half: Record) -> int | None:
        """The open half that represents the transaction if `half` does not count; None without
        one."""
        origin = origin_of(half)
        number = self._newest.get(origin, origin)
        return None if number == half.queue_offset or self.is_done(number) else number

    def newest(self, half: Record) -> int:
        """The number of the half that represents this half's transaction."""
        return self._newest.get(origin_of(half), half.queue_offset)

    def is_open(self, half: Record) -> bool:
        return not self.is_done(self.newest(half))

    def replaced(self, copy: Record, number: int) -> None:
        """Record that the copy was stored, and an op for the half it replaces."""
        self.stands(copy)
        self.done(number)

    def ended(self, half: Record) -> None:
        """Record that an op was stored for the half that represents this half's transaction."""
        self.done(self.newest(half))
        self._newest.pop(origin_of(half), None)

    def resume(self, position: int) -> bool:
        """Record that the given-up message at this log position begins a new transaction.

        Returns False if it was resumed before: a second transaction would deliver it once more.
        """
        if position in self._resumed:
            return False
        if len(self._resumed) >= RESUMED_MAX:
            del self._resumed[next(iter(self._resumed))]
        self._resumed[position] = None
        return True

    def not_resumed(self, position: int) -> None:
        """Undo `resume`, because the new transaction could not be stored."""
        self._resumed.pop(position, None)

    def is_claimed(self, half: Record) -> bool:
        return origin_of(half) in self._claimed

    @contextmanager
    def claim(self, halves: Iterable[Record]) -> Iterator[None]:
        """Claim these transactions for the duration of the context, so that no other task stores
        for them."""
        origins = {origin_of(half) for half in halves}
        assert self._claimed.isdisjoint(origins), "a transaction is claimed once"
        self._claimed |= origins
        try:
            yield
        finally:
            self._claimed -= origins
