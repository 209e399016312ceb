"""Hides messages of topics that are older than the topic's age, even if the log still has them.

    keep("T", 3_600_000)     consumers find what was stored in the last hour
    keep("T", None)          all that there is

Each cleanResourceInterval, and soon after a change, read tasks check the queues of such topics, few
at a time. The first message that is young enough becomes the queue's `floor`, and the queue's
minimum is not below it. Nothing is deleted: hidden messages are deleted with the log's files, and
until then a longer age shows them again, after the next check.

Nothing of this is on disk: the owner of the topics' settings must call `keep` again after a start.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.base.disk import Background, Completion, DiskError
from gantrymq.base.errors import CorruptionError, LocalError
from gantrymq.store.consumequeue.consumequeue import ConsumeQueue
from gantrymq.store.consumequeue.queue_times import Boundary
from gantrymq.store.read.async_reader import AsyncReader, ReadTask
from gantrymq.store.read.lookups import earliest_store_time, offset_by_time
from gantrymq.store.read.readable_store import ReadableStore

# A queue that is not in memory takes some twenty reads, and consumers go first.
LOOKED_AT_ONCE: Final = 2

# Mostly the first message is young enough, and is in memory or one read away.
STARTED_A_TURN: Final = 16


@final
class TopicAges:
    """The ages of topics in one store."""

    __slots__ = (
        "_ages_ms",
        "_interval",
        "_left",
        "_next_key",
        "_next_look",
        "_queues",
        "_reader",
        "_store",
        "failure",
    )

    def __init__(self, store: ReadableStore, background: Background) -> None:
        self._ages_ms: dict[str, int] = {}
        self._interval = store.settings.clean_resource_interval / 1000
        self._left: list[tuple[str, int]] = []
        self._next_key = 0
        self._next_look = float("-inf")
        self._queues: dict[int, ConsumeQueue] = {}
        self._reader = AsyncReader(background, LOOKED_AT_ONCE)
        self._store = store
        self.failure: DiskError | CorruptionError | None = None
        """The last error of the last check, to be reported; the next check tries again."""

    def keep(self, topic: str, age_ms: int | None) -> None:
        """Show the topic's messages for `age_ms`; None: for as long as the log has them."""
        if age_ms is not None and age_ms < 1:
            raise LocalError(f"messages of topic {topic} cannot be kept for {age_ms} ms")
        before = self._ages_ms.pop(topic, None)
        if age_ms is not None:
            self._ages_ms[topic] = age_ms
        if age_ms == before:
            return
        self._next_look = float("-inf")
        if before is not None and (age_ms is None or age_ms > before):
            self._show_again(topic)

    def turn(self, now: float, wall_ms: int) -> None:
        """Begin a check if one is due, and continue one that is under way."""
        if self._left or self._queues:
            self._go_on(wall_ms)
        elif self._ages_ms and now >= self._next_look:
            self._next_look = now + self._interval
            self.failure = None
            queues = self._store.queues
            self._left = [(each, id_) for each in self._ages_ms for id_ in queues.queue_ids(each)]
            self._go_on(wall_ms)

    def take(self, completion: Completion) -> bool:
        """Whether the completion is for a check."""
        is_ours = self._reader.take(completion)
        if is_ours:
            self._raise_floors()
        return is_ours

    def deadline(self) -> float:
        """The time at which `turn` has work."""
        if (self._left and len(self._queues) < LOOKED_AT_ONCE) or self._reader.is_due:
            return -NEVER
        is_looking = self._left or self._queues
        return NEVER if is_looking or not self._ages_ms else self._next_look

    def _go_on(self, wall_ms: int) -> None:
        self._reader.turn()
        self._raise_floors()
        for _ in range(STARTED_A_TURN):
            if not self._left or len(self._queues) >= LOOKED_AT_ONCE:
                return
            self._start(*self._left.pop(), wall_ms)

    def _start(self, topic: str, queue_id: int, wall_ms: int) -> None:
        age_ms, queue = self._ages_ms.get(topic), self._store.queues.find(topic, queue_id)
        if age_ms is None or queue is None:
            return
        self._next_key += 1
        self._queues[self._next_key] = queue
        reading = _first_since(self._store, queue, wall_ms - age_ms)
        self._reader.start(self._next_key, reading)
        self._raise_floors()

    def _raise_floors(self) -> None:
        for finished in self._reader.take_finished():
            queue = self._queues.pop(finished.key)
            if finished.error is not None:
                self.failure = finished.error
            elif queue.topic in self._ages_ms:
                assert isinstance(finished.result, int)
                queue.floor = max(queue.floor, min(finished.result, queue.end))

    def _show_again(self, topic: str) -> None:
        """Show all messages of the topic, and drop checks that began with the shorter age."""
        queues = self._store.queues
        for key in [key for key, queue in self._queues.items() if queue.topic == topic]:
            self._reader.cancel(key)
            del self._queues[key]
        for queue_id in queues.queue_ids(topic):
            queue = queues.find(topic, queue_id)
            if queue is not None:
                queue.floor = 0


def _first_since(store: ReadableStore, queue: ConsumeQueue, timestamp_ms: int) -> ReadTask[int]:
    """The first message of the queue that was stored at this time or later."""
    place = queue.topic, queue.queue_id
    minimum = queue.minimum
    if (yield from earliest_store_time(store, *place)) >= timestamp_ms:
        return minimum
    return (yield from offset_by_time(store, *place, timestamp_ms, Boundary.LOWER))
