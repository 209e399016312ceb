"""Records that a power cut left whole, but for the place in a queue that they name.

No sum covers a record's header. Above the flush mark a wrong bit may have made any number of a
queue offset, or have named another queue: taken as it is, the record would take the place of all
that its queue has before and behind it. A sound one is the next of its queue, or the first one, as
in a topic that was deleted before, or in a queue that nobody knows. So the log ends

    before a record      that is neither, or that no queue has a place for
    before an earlier    one of its queue that seemed to begin it anew, where this one goes on as if
                         that had been the next one

The log itself says which is the next one, from where the queue's newest message lies: the queue may
be short, and is made again from the log then. Where nothing says it nothing is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, takewhile
from typing import Final, final

from gantrymq.store.entries import EntryReader
from gantrymq.store.entry import Entry
from gantrymq.store.layout import POSITION_MAX
from gantrymq.store.log_walk import LogWalk
from gantrymq.store.marks import LogMark
from gantrymq.store.queue_unit import UNIT_BYTES
from gantrymq.store.queues import Queues
from gantrymq.store.segments import Segments
from gantrymq.wire import java_string

_OFFSET_MAX: Final = POSITION_MAX // UNIT_BYTES - 1


@final
class TailOrder:
    """Of one recovery, when all that lies below the flush mark is in the queues."""

    __slots__ = ("_begun", "_last", "_queues", "_reader", "_segments", "short")

    def __init__(self, queues: Queues, segments: Segments, reader: EntryReader) -> None:
        self._begun: dict[tuple[str, int], tuple[int, int]] = {}
        """Queues that seemed to begin anew: which number would have been the next, and where."""
        self._last: dict[tuple[str, int], int] = {}
        self._queues = queues
        self._reader = reader
        self._segments = segments
        self.short: dict[tuple[str, int], None] = {}
        """Queues that lack what the log has below the mark."""

    def end(self, tail: Iterator[Entry]) -> int:
        """Where the log has to end; POSITION_MAX where all these are in order."""
        for entry in tail:
            if entry.has_unit and (wrong := self._wrong(entry)) is not None:
                return wrong
        return POSITION_MAX

    def _wrong(self, entry: Entry) -> int | None:
        """Where the record lies that this one shows to be wrong, if it does."""
        queue = java_string.utf8_text(entry.topic), int(entry.queue_id)
        last = self._last[queue] if queue in self._last else self._newest(*queue, entry)
        offset, position = int(entry.queue_offset), int(entry.physical_offset)
        self._last[queue] = offset
        wanted = 0 if last is None else last + 1
        if offset == wanted:
            return None
        if not 0 <= offset <= _OFFSET_MAX:
            return position
        if last is None or offset == 0:
            self._begun[queue] = wanted, position
            return None
        skipped, begun_at = self._begun.get(queue, (-1, 0))
        return begun_at if offset == skipped + 1 else position

    def _newest(self, topic: str, queue_id: int, entry: Entry) -> int | None:
        """The number of the queue's last record before this one; None where that is not sure."""
        queue = self._queues.find(topic, queue_id)
        if queue is None or queue in self._queues.faults or queue.end == queue.start:
            return None
        newest = queue.end - 1
        if entry.queue_offset == queue.end:
            return newest
        position = queue.unit(newest)[0]
        if not self._segments.first <= position < entry.physical_offset:
            return None
        walk = LogWalk(self._segments, self._reader, LogMark(position))
        before = takewhile(
            lambda each: each.physical_offset < entry.physical_offset,
            chain.from_iterable(walk.chunks()),
        )
        last = None
        for each in before:
            if not each.has_unit or each.queue_id != entry.queue_id or each.topic != entry.topic:
                continue
            if last is not None:
                self.short[topic, queue_id] = None
            elif (each.physical_offset, each.queue_offset) != (position, newest):
                return None
            last = int(each.queue_offset)
        return last
