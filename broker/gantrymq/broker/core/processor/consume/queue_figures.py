"""Reads queue bounds, consumer positions and store times from the store, for admin requests.

One request is one reading, which yields to other work after every few queues because a broker may
have 50 000 of them. The reading ends early when its answer would exceed a frame: see `Tally`.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.base.bounds import FRAME_BYTES_MAX
from gantrymq.broker.core.messages import Reply
from gantrymq.broker.core.responses import refused
from gantrymq.broker.core.state import State
from gantrymq.store.read.async_reader import ReadTask
from gantrymq.store.read.lookups import (
    Bounds,
    earliest_store_time,
    queue_bounds,
    store_time_of,
)
from gantrymq.store.read.readable_store import ReadableStore
from gantrymq.wire.bodies.consuming.consumption import QueueTimeSpan
from gantrymq.wire.bodies.consuming.queue_stats import ConsumedOffset, TopicOffset
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import ResponseCode

# Leaves room in a frame for the headers and the rest of the body.
ENTRIES_BYTES_MAX: Final = FRAME_BYTES_MAX - (1 << 20)

# About one millisecond of work.
QUEUES_A_TURN: Final = 32

NO_BOUNDS: Final = Bounds(0, 0)


@final
class Tally:
    """The size of an answer so far, and the sums of its lags; owned by one reading."""

    __slots__ = ("_count", "_size", "diff", "inflight_diff")

    def __init__(self) -> None:
        self._count = 0
        self._size = 0
        self.diff = 0
        """The number of messages that groups have not consumed."""
        self.inflight_diff = 0
        """The part of them that consumers have pulled and not committed."""

    def add(self, entry: bytes) -> bool:
        """Count an entry; return whether the reading should yield."""
        self._count += 1
        self._size += len(entry)
        return self._count % QUEUES_A_TURN == 0

    def count(self, consumed: ConsumedOffset) -> None:
        self.diff += consumed.broker_offset - consumed.consumer_offset
        self.inflight_diff += consumed.pull_offset - consumed.consumer_offset

    @property
    def is_too_long(self) -> bool:
        """Whether the answer exceeds a frame."""
        return self._size > ENTRIES_BYTES_MAX


def too_long(instead: str) -> Reply:
    return refused(
        ResponseCode.SYSTEM_ERROR,
        f"the answer has more than {ENTRIES_BYTES_MAX} bytes, no frame can carry it: {instead}",
    )


def queues_of(state: State, topic: str, count: int) -> list[MessageQueue]:
    return [MessageQueue(topic, state.identity.name, queue_id) for queue_id in range(count)]


def topic_offset(store: ReadableStore, queue: MessageQueue) -> ReadTask[TopicOffset]:
    topic, queue_id = queue.topic, queue.queue_id
    bounds = (yield from queue_bounds(store, topic, queue_id)) or NO_BOUNDS
    last_ms = 0
    if bounds.maximum > 0:
        last_ms = yield from store_time_of(store, topic, queue_id, bounds.maximum - 1)
    return TopicOffset(bounds.minimum, bounds.maximum, last_ms)


def consumed_offset(
    store: ReadableStore, queue: MessageQueue, offset: int, pull_offset: int
) -> ReadTask[ConsumedOffset]:
    """`offset` and `pull_offset` are those of the group, 0 where it has none."""
    topic, queue_id = queue.topic, queue.queue_id
    bounds = (yield from queue_bounds(store, topic, queue_id)) or NO_BOUNDS
    last_ms = 0
    if offset > 0:
        last_ms = max(0, (yield from store_time_of(store, topic, queue_id, offset - 1)))
    return ConsumedOffset(bounds.maximum, offset, max(offset, pull_offset), last_ms)


def time_span(
    store: ReadableStore, queue: MessageQueue, offset: int | None, wall_ms: int
) -> ReadTask[QueueTimeSpan]:
    """A group without an offset (None) has all messages of the queue before it."""
    topic, queue_id = queue.topic, queue.queue_id
    bounds = (yield from queue_bounds(store, topic, queue_id)) or NO_BOUNDS
    min_ms = yield from earliest_store_time(store, topic, queue_id)
    max_ms = yield from store_time_of(store, topic, queue_id, bounds.maximum - 1)
    consume_ms = min_ms
    if offset:
        consume_ms = yield from store_time_of(store, topic, queue_id, offset - 1)
    delay_ms = 0
    following = max(offset or 0, bounds.minimum)
    if following < bounds.maximum:
        stored_ms = yield from store_time_of(store, topic, queue_id, following)
        delay_ms = max(0, wall_ms - stored_ms)
    return QueueTimeSpan(
        queue=queue, min_ms=min_ms, max_ms=max_ms, consume_ms=consume_ms, delay_ms=delay_ms
    )
