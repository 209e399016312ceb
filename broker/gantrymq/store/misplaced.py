"""Records that a power cut left whole, but for the offset in their queue.

No sum covers a record's header. Above the flush mark a wrong bit may have turned the queue offset
into any other: taken as it is, the record would take the place of all that its queue has before and
behind it. A sound one is the next of its queue, or the first of a topic that was deleted before; so
the log ends at one that is neither.

Whether a record is the next one the log itself says, not the queue: that one may be short, and is
made again from the log then.
"""

from __future__ import annotations

from itertools import chain, takewhile

from gantrymq.store.consumequeue import ConsumeQueue
from gantrymq.store.entries import EntryReader
from gantrymq.store.entry import Entry
from gantrymq.store.log_walk import LogWalk
from gantrymq.store.marks import LogMark
from gantrymq.store.segments import Segments
from gantrymq.wire import java_string


def is_misplaced(
    entry: Entry, queue: ConsumeQueue, segments: Segments, reader: EntryReader
) -> bool:
    """Whether this record, which is not the next one that the queue wants, is wrong by that."""
    if entry.queue_offset == 0:
        return False
    newest = queue.end - 1
    position = queue.unit(newest)[0]
    walk = LogWalk(segments, reader, LogMark(max(position, segments.first)))
    before = takewhile(
        lambda each: each.physical_offset < entry.physical_offset,
        chain.from_iterable(walk.chunks()),
    )
    found = [each.queue_offset for each in before if _is_of(each, queue)]
    return found == ([newest] if position >= segments.first else [])


def _is_of(entry: Entry, queue: ConsumeQueue) -> bool:
    return (
        entry.has_unit
        and entry.queue_id == queue.queue_id
        and java_string.utf8_text(entry.topic) == queue.topic
    )
