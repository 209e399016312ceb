"""Looks up single messages and figures of queues: by log position, id, key and time.

A position may come from any client. A record there counts only if it is sound and its own queue has
it at that position, because the inside of a body can be made to look like a record. A record that
is not in its queue (any more) is therefore not found, unlike in Java.

By key, Java returns every record whose key has the same hash. Here the record's topic and keys are
compared, and if none matches, the search continues among older records. Positions that the index
has twice are returned once.

Records at or above `readable`, and records that the log has deleted, give None, an empty answer, or
a time of -1.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.errors import RemoteError
from gantrymq.store.consumequeue.queue_times import Boundary, TimeSearch
from gantrymq.store.read.async_reader import ReadTask
from gantrymq.store.read.index_lookup import KeyQuery, lookup
from gantrymq.store.read.readable_store import (
    RECORD_BYTES_MAX,
    ReadableStore,
    log_bytes,
    readable_end,
    unit_position,
)
from gantrymq.store.record.walk import Found, look
from gantrymq.wire import java_string
from gantrymq.wire.message import offset_id, properties, sys_flag
from gantrymq.wire.message.property_names import KEYS, UNIQ_KEY
from gantrymq.wire.message.record import (
    BORN_HOST_POSITION,
    MAGIC_V1,
    MAGIC_V2,
    RECORD_BYTES_MIN,
    Record,
)

# Most records fit into this, so that one read is enough.
FIRST_BYTES: Final = 4096

# One frame carries the answer to a query by key, with its headers.
ANSWER_BYTES_MAX: Final = RECORD_BYTES_MAX - (1 << 20)

# Checking and copying this many bytes is enough work for one turn.
BYTES_A_TURN: Final = 1 << 20

# Java's limit: rounds of a query by key that finds only other keys.
ROUNDS_MAX: Final = 3

NO_TIME: Final = -1

_HEAD: Final = struct.Struct(">ii20xqi")  # size, magic, physical offset, sysFlag
_TIME: Final = struct.Struct(">q")


@final
@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A record, and its bytes as they go over the wire."""

    record: Record
    data: bytes


@final
@dataclass(frozen=True, slots=True)
class KeyAnswer:
    """Messages in the log's order, and time and position of the index's newest entry."""

    messages: Sequence[StoredMessage]
    index_end_ms: int
    index_end_offset: int


@final
@dataclass(frozen=True, slots=True)
class Bounds:
    """The queue offsets from `minimum`, the oldest message in the log, to `maximum`, the next
    one's."""

    minimum: int
    maximum: int


# ---------------------------------------------------------------------- messages


def message_at(store: ReadableStore, position: int) -> ReadTask[StoredMessage | None]:
    """The message whose record begins at this log position."""
    found = yield from _sound_message(store, position)
    if found is None or not (yield from _is_listed(store, found.record)):
        return None
    return found


def message_by_id(store: ReadableStore, message_id: str) -> ReadTask[StoredMessage | None]:
    """The message with this offset message id. The host in the id is ignored."""
    try:
        _, position = offset_id.decode(message_id)
    except RemoteError:
        return None
    return (yield from message_at(store, position))


def messages_by_key(
    store: ReadableStore, topic: str, key: str, count_max: int, begin_ms: int, end_ms: int
) -> ReadTask[KeyAnswer]:
    """The newest messages with this key whose store time is in this range."""
    index, wanted = store.index, (java_string.utf8_bytes(topic), java_string.utf8_bytes(key))
    count_max = min(count_max, store.settings.max_msgs_num_batch)
    found: list[StoredMessage] = []
    for _ in range(ROUNDS_MAX):
        query = KeyQuery(index.key_hash(*wanted), count_max, begin_ms, end_ms)
        positions = yield from lookup(index, query)
        oldest_ms = yield from _with_key(store, wanted, positions, found)
        if found or not begin_ms <= oldest_ms < end_ms:
            break
        end_ms = oldest_ms
        yield None
    found.reverse()
    return KeyAnswer(found, index.end_ms, index.end_offset)


def _with_key(
    store: ReadableStore,
    wanted: tuple[bytes, bytes],
    positions: Sequence[int],
    found: list[StoredMessage],
) -> ReadTask[int]:
    """Add the messages with this topic and key, newest first. Return the store time of the oldest
    record read."""
    oldest_ms = NO_TIME
    total = read = 0
    for position in sorted(set(positions), reverse=True):
        message = yield from _sound_message(store, position)
        if message is None:
            continue
        oldest_ms = message.record.store_timestamp_ms
        if _has_key(message.record, *wanted):
            total += len(message.data)
            if found and total > ANSWER_BYTES_MAX:
                break
            found.append(message)
        read += len(message.data)
        if read >= BYTES_A_TURN:
            read = 0
            yield None
    return oldest_ms


def _has_key(record: Record, topic: bytes, key: bytes) -> bool:
    """Whether the index would have this key for the record: as its unique key or a word of KEYS."""
    if record.topic != topic:
        return False
    unique_key = properties.get(record.properties, UNIQ_KEY) or ""
    keys = properties.get(record.properties, KEYS) or ""
    text = java_string.utf8_text(key)
    return text == unique_key or text in keys.split(" ")


def _sound_message(store: ReadableStore, position: int) -> ReadTask[StoredMessage | None]:
    """The sound record at this position, even if its queue does not have it."""
    log = store.log
    file_bytes = log.segments.file_bytes
    if position >= store.readable:
        return None
    data = yield from log_bytes(log, position, FIRST_BYTES)
    if not data:
        return None
    item = look(data, 0, position, file_bytes)
    if item.found is Found.MORE and item.size <= RECORD_BYTES_MAX:
        data = yield from log_bytes(log, position, item.size)
        item = look(data, 0, position, file_bytes)
    if item.record is None:
        return None
    return StoredMessage(item.record, data[: item.size])


def _is_listed(store: ReadableStore, record: Record) -> ReadTask[bool]:
    """Whether the record's queue has it at the offset that the record names."""
    queue = store.queues.find(java_string.utf8_text(record.topic), record.queue_id)
    if queue is None:
        return False
    position = yield from unit_position(queue, record.queue_offset)
    return position == record.physical_offset


# ---------------------------------------------------------------------- queues and times


def queue_bounds(store: ReadableStore, topic: str, queue_id: int) -> ReadTask[Bounds | None]:
    """The range of the queue's messages; None if there is no such queue."""
    queue = store.queues.find(topic, queue_id)
    if queue is None:
        return None
    maximum = yield from readable_end(queue, store.readable)
    return Bounds(queue.minimum, maximum)


def offset_by_time(
    store: ReadableStore, topic: str, queue_id: int, timestamp_ms: int, boundary: Boundary
) -> ReadTask[int]:
    """The offset of the queue's message at this store time; 0 if there is no such queue."""
    queue = store.queues.find(topic, queue_id)
    if queue is None:
        return 0
    end = yield from readable_end(queue, store.readable)
    search = TimeSearch(queue.minimum, end, timestamp_ms, boundary)
    while (probe := search.probe) is not None:
        position = yield from unit_position(queue, probe)
        search.tell((yield from _store_time(store, position)))
    return search.result


def store_time_of(store: ReadableStore, topic: str, queue_id: int, offset: int) -> ReadTask[int]:
    """The store time of this message of the queue."""
    queue = store.queues.find(topic, queue_id)
    if queue is None or offset < queue.minimum:
        return NO_TIME
    position = yield from unit_position(queue, offset)
    return (yield from _store_time(store, position))


def earliest_store_time(store: ReadableStore, topic: str, queue_id: int) -> ReadTask[int]:
    """The store time of the queue's oldest message."""
    queue = store.queues.find(topic, queue_id)
    if queue is None:
        return NO_TIME
    return (yield from store_time_of(store, topic, queue_id, queue.minimum))


def first_store_time(store: ReadableStore) -> ReadTask[int]:
    """The store time of the log's oldest message."""
    return (yield from _store_time(store, store.log.start))


def _store_time(store: ReadableStore, position: int) -> ReadTask[int]:
    """The store time of the record at this log position."""
    if position >= store.readable:
        return NO_TIME
    data = yield from log_bytes(store.log, position, RECORD_BYTES_MIN)
    if len(data) < RECORD_BYTES_MIN:
        return NO_TIME
    _, magic, said_position, flags = _HEAD.unpack_from(data)
    if magic not in {MAGIC_V1, MAGIC_V2} or said_position != position:
        return NO_TIME
    born_host_bytes = 20 if flags & sys_flag.BORN_HOST_V6 else 8
    stored_ms: int
    (stored_ms,) = _TIME.unpack_from(data, BORN_HOST_POSITION + born_host_bytes)
    return stored_ms
