"""Computes how far each consumer group is behind in each topic, in messages and in time.

The rules are RocketMQ's:

- A group consumes every topic in which it has an offset, whether it is online or not.
- Retry topics of push consumers have no rows. A retry topic of a POP consumer has a row under the
  name of its original topic, with `is_retry` set.
- The broker's own transaction group has no rows.
- A queue in which the group has no offset counts as consumed.

    minimum .. acknowledged .. given .. end
               |<-inflight ->|<-ready->|
               |<----- lag ----------->|

A POP consumer may acknowledge messages in any order, so `acknowledged .. given` may contain
messages that are already acknowledged. For POP consumers `inflight` therefore counts the messages
that are checked out, rather than the distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, final

from gantrymq.broker.core.names import pop_handles
from gantrymq.broker.core.names.name_rules import RETRY_PREFIX
from gantrymq.broker.core.names.system_topics import TRANSACTION_GROUP
from gantrymq.broker.core.state import State
from gantrymq.store.read.async_reader import ReadTask
from gantrymq.store.read.lookups import store_time_of
from gantrymq.store.read.readable_store import readable_end
from gantrymq.wire.bodies.shared import TopicConfig

# After so many queues the pass yields to other work: this takes less than half a millisecond.
QUEUES_A_PIECE: Final = 32

# How many store times one pass looks up, since each lookup may read the disk. The next passes look
# up the rest.
TIMES_A_PASS: Final = 2_000

UNKNOWN_MS: Final = -1
NONE_MS: Final = 0


@final
@dataclass(slots=True)
class GroupLag:
    """How far one group is behind in one topic: the sum over all queues of the topic.

    The two times are store times in ms. They are NONE_MS if no message waits, and UNKNOWN_MS if the
    time of the oldest waiting message has not been looked up yet.
    """

    group: str
    topic: str
    is_retry: bool
    lag: int = 0
    inflight: int = 0
    ready: int = 0
    lag_since_ms: int = NONE_MS
    ready_since_ms: int = NONE_MS
    queues: Sequence[tuple[int, int]] = ()
    """Pairs of queue number and lag; empty unless metricsQueueLagEnable is set."""


class QueueLag(NamedTuple):
    """The offsets in one queue from which the lag of one group is computed."""

    acknowledged: int
    """The offset of the first message that the group has not acknowledged."""
    given: int
    """The offset of the first message that was not delivered to the group."""
    inflight: int
    end: int


class _Place(NamedTuple):
    group: str
    topic: str
    """The topic whose queues hold the messages."""
    shown_topic: str
    """The topic in the label of the row; for a retry topic this is the original topic."""
    is_retry: bool


@final
class StoreTimes:
    """Caches the store times of messages, so that the next pass need not read them again.

    Invariant: the cache has only times that the last pass asked for.
    """

    __slots__ = ("_kept", "_known", "left")

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, int], int] = {}
        self._kept: dict[tuple[str, int, int], int] = {}
        self.left = 0

    def begin(self) -> None:
        """Begin a pass: drop times that the last pass did not ask for."""
        self._known, self._kept = self._kept, {}
        self.left = TIMES_A_PASS

    def of(self, state: State, topic: str, queue_id: int, offset: int) -> ReadTask[int]:
        """The store time of a message in ms; UNKNOWN_MS once this pass has used up its lookups."""
        key = (topic, queue_id, offset)
        time_ms = self._kept.get(key) or self._known.get(key)
        if time_ms is None:
            if self.left <= 0:
                return UNKNOWN_MS
            self.left -= 1
            time_ms = yield from store_time_of(state.store, topic, queue_id, offset)
        if time_ms > 0:
            self._kept[key] = time_ms
        return time_ms if time_ms > 0 else NONE_MS


def group_lags(state: State, times: StoreTimes) -> ReadTask[list[GroupLag]]:
    """The lag of every group in every topic that it consumes."""
    times.begin()
    rows: list[GroupLag] = []
    queues = 0
    settings = state.settings
    left = settings.metrics_otel_cardinality_limit if settings.metrics_queue_lag_enable else 0
    for group in list(state.groups.all):
        for place in _places(state, group):
            row = GroupLag(place.group, place.shown_topic, place.is_retry)
            lags: list[tuple[int, int]] = []
            for queue_id in _queue_ids(state, place):
                before = row.lag
                yield from _add_queue(state, times, place, queue_id, row)
                if len(lags) < left:
                    lags.append((queue_id, row.lag - before))
                queues += 1
                if queues % QUEUES_A_PIECE == 0:
                    yield None
            if lags:
                row.queues = lags
                left -= len(lags)  # only as many are kept as a page shows
            rows.append(row)
    return rows


def _places(state: State, group: str) -> list[_Place]:
    """The topics that the group consumes, with their retry topics of POP."""
    if group == TRANSACTION_GROUP:
        return []
    places = []
    for topic in state.offsets.topics_of(group):
        if topic.startswith(RETRY_PREFIX) or state.topics.find(topic) is None:
            continue
        places.append(_Place(group, topic, topic, is_retry=False))
        again = pop_handles.retry_topic(group, topic)
        if state.topics.find(again) is not None:
            places.append(_Place(group, again, topic, is_retry=True))
    return places


def _queue_ids(state: State, place: _Place) -> list[int]:
    """The existing queues of the topic in which the group has an offset."""
    config = state.topics.find(place.topic)
    if config is None:
        return []
    count = _queue_count(config)
    return [each for each in state.offsets.queues(place.group, place.topic) if each < count]


def _queue_count(config: TopicConfig) -> int:
    return max(config.read_queue_nums, config.write_queue_nums)


def _add_queue(
    state: State, times: StoreTimes, place: _Place, queue_id: int, row: GroupLag
) -> ReadTask[None]:
    lag = yield from queue_lag(state, place.group, place.topic, queue_id)
    if lag is None or lag.end <= lag.acknowledged:
        return
    row.lag += lag.end - lag.given + lag.inflight
    row.inflight += lag.inflight
    row.ready += lag.end - lag.given
    since_ms = yield from times.of(state, place.topic, queue_id, lag.acknowledged)
    row.lag_since_ms = _older(row.lag_since_ms, since_ms)
    if lag.given < lag.end:
        if lag.given != lag.acknowledged:
            since_ms = yield from times.of(state, place.topic, queue_id, lag.given)
        row.ready_since_ms = _older(row.ready_since_ms, since_ms)


def queue_lag(state: State, group: str, topic: str, queue_id: int) -> ReadTask[QueueLag | None]:
    """The lag of a group in one queue; None if the queue or the group's offset does not exist."""
    queue = state.store.queues.find(topic, queue_id)
    stored = state.offsets.find(group, topic, queue_id)
    if queue is None or stored is None:
        return None
    end: int = queue.end
    if queue.physical_end > state.store.readable:
        end = yield from readable_end(queue, state.store.readable)
    stored = min(max(stored, queue.minimum), end)
    place = (group, topic, queue_id)
    following = state.in_flight.next(place)
    if following is None:
        pulled = state.offsets.pulled(group, topic, queue_id) or 0
        given = min(max(stored, pulled), end)
        return QueueLag(stored, given, given - stored, end)
    given = min(max(stored, following), end)
    out = state.in_flight.out_of(place)
    count, first = (0, given) if out is None else out
    return QueueLag(min(first, given), given, count, end)


def _older(known_ms: int, found_ms: int) -> int:
    """The older of two store times. NONE_MS is ignored, and UNKNOWN_MS makes the result unknown."""
    if UNKNOWN_MS in (found_ms, known_ms):
        return UNKNOWN_MS
    if NONE_MS in (known_ms, found_ms):
        return max(known_ms, found_ms)
    return min(known_ms, found_ms)
