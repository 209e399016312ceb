"""Records that a power cut left whole, but for the place in a queue that they name.

No sum covers a record's header. Above the flush mark a wrong bit may have made any number of a
queue offset, or have named another queue: taken as it is, the record would take the place of all
that its queue has before and behind it. So the log ends at a record that is

    not the next one    of its queue; nor the first one, as in a topic that was deleted before
    beyond all queues   no file of a queue has a name for that

The log itself must say which is the next one, not the queue alone: that one may be short, and is
made again from the log then. Where neither says it nothing is wrong.
"""

from __future__ import annotations

from itertools import chain
from typing import Final, final

from gantrymq.store.consumequeue import ConsumeQueue
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
    """Of one recovery: what lies above the flush mark, each record asked for in the log's order,
    when all that lies below the mark is in the queues."""

    __slots__ = ("_last", "_queues", "_reader", "_segments")

    def __init__(self, queues: Queues, segments: Segments, reader: EntryReader) -> None:
        self._last: dict[tuple[bytes, int], int] = {}
        self._queues = queues
        self._reader = reader
        self._segments = segments

    def is_misplaced(self, entry: Entry) -> bool:
        """Whether the log has to end before it."""
        if not entry.has_unit:
            return False
        queue = entry.topic, int(entry.queue_id)
        last = self._last[queue] if queue in self._last else self._newest(entry)
        offset = self._last[queue] = int(entry.queue_offset)
        if not 0 <= offset <= _OFFSET_MAX:
            return True
        return last is not None and offset not in {last + 1, 0}

    def _newest(self, entry: Entry) -> int | None:
        """The number of the queue's newest message below this record; None where it is not sure."""
        queue = self._queues.find(java_string.utf8_text(entry.topic), int(entry.queue_id))
        if queue is None or queue in self._queues.faults or queue.end == queue.start:
            return None
        newest = queue.end - 1
        is_next = entry.queue_offset == queue.end
        return newest if is_next or self._is_confirmed(queue, newest, entry) else None

    def _is_confirmed(self, queue: ConsumeQueue, newest: int, entry: Entry) -> bool:
        """Whether the log has the newest message where the queue says, and no later one."""
        position = queue.unit(newest)[0]
        if not self._segments.first <= position < entry.physical_offset:
            return False
        is_found = False
        walk = LogWalk(self._segments, self._reader, LogMark(position))
        for each in chain.from_iterable(walk.chunks()):
            if each.physical_offset >= entry.physical_offset:
                return is_found and each.physical_offset == entry.physical_offset
            if not each.has_unit or each.queue_id != entry.queue_id or each.topic != entry.topic:
                continue
            if (each.physical_offset, each.queue_offset) != (position, newest):
                return False
            is_found = True
        return False
