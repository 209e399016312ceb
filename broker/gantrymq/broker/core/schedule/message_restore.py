"""Reads messages that wait in an internal queue, and gives them their own topic and queue again.

A waiting record has its topic and queue id in REAL_TOPIC and REAL_QID. The delivered record keeps
all its properties, as in Java: its readers must not take its DELAY for a request.

A record that is lost from the log or damaged is None: one message must not block those behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from gantrymq.base.bounds import INT_MAX
from gantrymq.base.errors import CorruptionError
from gantrymq.store.consumequeue.consumequeue import ConsumeQueue
from gantrymq.store.consumequeue.queue_unit import UNIT
from gantrymq.store.read.async_reader import ReadTask
from gantrymq.store.read.readable_store import ReadableStore, log_bytes, queue_units, readable_end
from gantrymq.wire import java_string
from gantrymq.wire.message import properties
from gantrymq.wire.message.property_names import REAL_QUEUE_ID, REAL_TOPIC
from gantrymq.wire.message.record import Record, decode

# The most that is read and stored at a time: enough for an efficient turn, and little enough not to
# delay other work.
COUNT_MAX: Final = 128
BYTES_MAX: Final = 1 << 20

# Gaps between two messages up to this size are read along, which is cheaper than two reads.
GAP_BYTES: Final = 16 << 10

_QUEUE_ID_DIGITS_MAX: Final = 10  # of an int32
_HALF_TOPIC: Final = b"RMQ_SYS_TRANS_HALF_TOPIC"

Place: TypeAlias = tuple[int, int]
"""The position of a record in the log, and its size."""


@final
@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive messages of a queue from offset `first` on.

    `next_code` is the tags code of the first message that was not wanted; None when the queue ended
    or the run was full.
    """

    first: int
    records: Sequence[Record | None]
    next_code: int | None = None
    is_end: bool = False

    @property
    def end(self) -> int:
        return self.first + len(self.records)


def run_of(
    store: ReadableStore,
    topic: str,
    queue_id: int,
    offset: int,
    is_wanted: Callable[[int], bool] | None = None,
) -> ReadTask[Run]:
    """The messages from `offset` on, up to the first whose tags code is not wanted.

    An offset outside the queue is set to its nearest end, as Java does.
    """
    queue = store.queues.find(topic, queue_id)
    if queue is None:
        return Run(offset, (), is_end=True)
    end = yield from readable_end(queue, store.readable)
    first = min(max(offset, queue.minimum), end)
    if first == end:
        return Run(first, (), is_end=True)
    units = yield from queue_units(queue, first, min(COUNT_MAX, end - first))
    places: list[Place] = []
    next_code = None
    total = 0
    for position, size, code in UNIT.iter_unpack(units):
        if is_wanted is not None and not is_wanted(code):
            next_code = code
            break
        total += size
        if places and total > BYTES_MAX:
            break
        places.append((position, size))
    records = yield from _records_at(store, places)
    is_end = next_code is None and first + len(places) == end
    return Run(first, records, next_code, is_end)


def messages_of(
    store: ReadableStore, topic: str, queue_id: int, offsets: Sequence[int]
) -> ReadTask[list[Record | None]]:
    """Read the messages at these rising offsets; fewer where they would be too large."""
    queue = store.queues.find(topic, queue_id)
    if queue is None:
        return [None] * len(offsets)
    places: list[Place] = []
    total = 0
    for offset in offsets[:COUNT_MAX]:
        place = yield from _place(queue, offset)
        total += place[1]
        if places and total > BYTES_MAX:
            break
        places.append(place)
    return (yield from _records_at(store, places))


def _place(queue: ConsumeQueue, offset: int) -> ReadTask[Place]:
    """The position of the message in the log; -1 with size 0 when it was lost."""
    if not queue.minimum <= offset < queue.end:
        return -1, 0
    data = yield from queue_units(queue, offset, 1)
    position, size, _ = UNIT.unpack_from(data)
    return position, size


def _records_at(store: ReadableStore, places: Sequence[Place]) -> ReadTask[list[Record | None]]:
    """Read the records at these positions, with one read for adjacent ones."""
    log = store.log
    records: list[Record | None] = []
    while len(records) < len(places):
        first = len(records)
        stop, end = _neighbours(places, first, log.segments.file_bytes)
        start = places[first][0]
        data = yield from log_bytes(log, start, end - start)
        records += [_sound(data, start, place) for place in places[first:stop]]
    return records


def _neighbours(places: Sequence[Place], first: int, file_bytes: int) -> tuple[int, int]:
    """The end of the places, from `first` on, to read at once; and the log position where they
    end."""
    start, size = places[first]
    end = start + size
    file_end = start - start % file_bytes + file_bytes
    for number in range(first + 1, len(places)):
        position, size = places[number]
        if not end <= position <= end + GAP_BYTES or position + size > file_end:
            return number, end
        end = position + size
    return len(places), end


def _sound(data: bytes, start: int, place: Place) -> Record | None:
    position, size = place
    try:
        record = decode(data, position - start)
    except CorruptionError:
        return None
    return record if (record.physical_offset, record.size) == (position, size) else None


def redirect(record: Record, topic: bytes, queue_id: int) -> Record:
    """Move the message into this queue, with its own topic and queue in its properties."""
    own_topic = java_string.utf8_text(record.topic)
    kept = properties.replace(record.properties, REAL_TOPIC, own_topic)
    record.properties = properties.replace(kept, REAL_QUEUE_ID, str(record.queue_id))
    record.topic = topic
    record.queue_id = queue_id
    record.version = 1
    return record


def restore(record: Record) -> Record | None:
    """The message for its own queue; None if that is unknown or the half topic."""
    topic = properties.get(record.properties, REAL_TOPIC)
    queue_id = properties.get(record.properties, REAL_QUEUE_ID) or ""
    if not topic or not queue_id.isdecimal() or len(queue_id) > _QUEUE_ID_DIGITS_MAX:
        return None
    real_topic = java_string.utf8_bytes(topic)
    if int(queue_id) > INT_MAX or real_topic == _HALF_TOPIC:
        return None
    return copy_to(record, real_topic, int(queue_id))


def copy_to(record: Record, topic: bytes, queue_id: int) -> Record:
    """A copy of the message for this queue; the store assigns its position and time."""
    return Record(
        topic,
        record.body,
        properties=record.properties,
        queue_id=queue_id,
        flag=record.flag,
        sys_flag=record.sys_flag,
        born_timestamp_ms=record.born_timestamp_ms,
        born_host=record.born_host,
        store_host=record.store_host,
        reconsume_times=record.reconsume_times,
    )
