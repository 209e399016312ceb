"""Finds records whose header a power cut has damaged, by their queue offsets.

No checksum covers a record's header. Above the flush position a flipped bit may have changed the
queue offset, or the queue. If recovery accepted such a record, it would displace the records of its
queue before and behind it. A sound record is the next one of its queue, or its first, as after the
topic was deleted, or in a queue that is new. So the log ends

    before a record            that is neither, or whose offset no queue can have
    before an earlier record   of its queue that seemed to begin the queue anew, if this record
                               continues the queue as it was before that record

The log itself tells which offset is next, from the queue's newest message on. The queue may be
short; it is then rebuilt from the log. If the log cannot tell, the record is accepted.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, takewhile
from typing import Final, final

from gantrymq.store.commitlog.log_entries import EntryReader
from gantrymq.store.commitlog.log_walk import LogWalk
from gantrymq.store.consumequeue.queue_unit import UNIT_BYTES
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.files.segments import Segments
from gantrymq.store.layout import POSITION_MAX
from gantrymq.store.record.dispatch_entry import DispatchEntry
from gantrymq.wire import java_string

_OFFSET_MAX: Final = POSITION_MAX // UNIT_BYTES - 1


@final
class TailOrder:
    """The order check of one recovery. The queues must have everything below the flush position."""

    __slots__ = ("_begun", "_last", "_queues", "_reader", "_segments", "short")

    def __init__(self, queues: Queues, segments: Segments, reader: EntryReader) -> None:
        self._begun: dict[tuple[str, int], tuple[int, int]] = {}
        """Queues that seemed to begin anew: the offset that would have been next, and the
        position."""
        self._last: dict[tuple[str, int], int] = {}
        self._queues = queues
        self._reader = reader
        self._segments = segments
        self.short: dict[tuple[str, int], None] = {}
        """Queues that lack records which the log has below the flush position."""

    def end(self, tail: Iterator[DispatchEntry]) -> int:
        """The position at which the log must end; POSITION_MAX if all records are in order."""
        for entry in tail:
            if entry.has_unit and (wrong := self._wrong(entry)) is not None:
                return wrong
        return POSITION_MAX

    def _wrong(self, entry: DispatchEntry) -> int | None:
        """The position of the record that this one proves to be wrong, or None."""
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

    def _newest(self, topic: str, queue_id: int, entry: DispatchEntry) -> int | None:
        """The offset of the queue's last record before this one; None if that is unknown."""
        queue = self._queues.find(topic, queue_id)
        if queue is None or queue in self._queues.faults or queue.end == queue.start:
            return None
        newest = queue.end - 1
        if entry.queue_offset == queue.end:
            return newest
        position = queue.unit(newest)[0]
        if not self._segments.first <= position < entry.physical_offset:
            return None
        walk = LogWalk(self._segments, self._reader, LogPosition(position))
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
