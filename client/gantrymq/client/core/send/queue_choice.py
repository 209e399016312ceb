"""Chooses the queue of a message: round robin from a random start, avoiding failed brokers.

Invariant: as long as a topic has a queue, one is chosen; an avoided broker is used if there is no
other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias, final

from gantrymq.client.core.instance.faults import Faults
from gantrymq.wire.bodies.shared import MessageQueue

QueueFilter: TypeAlias = Callable[[MessageQueue], bool]

# Upper bound of the random start, far above any number of queues.
_START_MAX: Final = 1 << 30


@final
class QueueChoice:
    """The round robin positions of one producer, for each topic that it sent to."""

    __slots__ = ("_chance", "_faults", "_next_indexes")

    def __init__(self, chance: Callable[[int], int], faults: Faults | None) -> None:
        """`faults` tracks brokers to avoid; None if latencies are not tracked."""
        self._chance = chance
        self._faults = faults
        self._next_indexes: dict[str, int] = {}

    def choose(
        self, topic: str, queues: Sequence[MessageQueue], failed_broker: str | None, now: float
    ) -> MessageQueue:
        """Return the next queue. `failed_broker` is the one that just failed for this message."""
        faults = self._faults
        if faults is None and failed_broker is None:
            return self._next(topic, queues)
        if faults is not None:
            if failed_broker is not None:
                self._next_indexes.pop(topic, None)
            found = self._find(
                topic,
                queues,
                lambda queue: (
                    queue.broker_name != failed_broker
                    and faults.is_available(queue.broker_name, now)
                ),
            )
            if found is not None:
                return found
        other = self._find(topic, queues, lambda queue: queue.broker_name != failed_broker)
        return other or self._next(topic, queues)

    def _find(
        self, topic: str, queues: Sequence[MessageQueue], is_wanted: QueueFilter
    ) -> MessageQueue | None:
        for _ in queues:
            queue = self._next(topic, queues)
            if is_wanted(queue):
                return queue
        return None

    def _next(self, topic: str, queues: Sequence[MessageQueue]) -> MessageQueue:
        index = self._next_indexes.get(topic)
        if index is None:
            index = self._chance(_START_MAX)
        self._next_indexes[topic] = index + 1
        return queues[index % len(queues)]
