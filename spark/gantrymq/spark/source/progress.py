"""Decides which progress of a stream is stored under its consumer group, and when.

Spark tells several times, and late, how far a stream is. The checkpoint alone decides where the
stream goes on; what brokers are told is for people and their alerts. Invariant: a queue's stored
offset never goes back while the stream runs, and brokers are asked at most once in STORE_SECONDS.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, final

from gantrymq.spark.options.assignment import QueueKey

STORE_SECONDS: Final = 1.0

NEVER: Final = float("-inf")


def in_turns(queues: Iterable[QueueKey]) -> tuple[list[QueueKey], list[QueueKey]]:
    """The first queue of each topic at each broker, and the others, which are told after it.

    A Java broker that does not know a group yet makes the table of its offsets with the first one.
    When offsets of several queues arrive at once, each makes a table and only the last table stays:
    the others are lost although they were answered as stored (RocketMQ issue 10700).
    """
    known = list(queues)
    first_of = {(queue.topic, queue.broker_name): queue for queue in reversed(known)}
    firsts = set(first_of.values())
    return list(firsts), [queue for queue in known if queue not in firsts]


@final
class Progress:
    """How far a stream is, and how far brokers were told that it is."""

    def __init__(self) -> None:
        self._done: dict[QueueKey, int] = {}
        self._stored: dict[QueueKey, int] = {}
        self._asked_at = NEVER

    def advance(self, positions: Mapping[QueueKey, int]) -> None:
        """All messages before these positions are processed."""
        for queue, position in positions.items():
            if position > self._done.get(queue, -1):
                self._done[queue] = position

    def due(self, now: float) -> dict[QueueKey, int]:
        """What brokers are to be told now; nothing before STORE_SECONDS are over."""
        if now < self._asked_at + STORE_SECONDS:
            return {}
        return self.unstored()

    def unstored(self) -> dict[QueueKey, int]:
        """What brokers were not told yet."""
        return {
            queue: position
            for queue, position in self._done.items()
            if self._stored.get(queue) != position
        }

    def asked(self, now: float) -> None:
        """Brokers are being told."""
        self._asked_at = now

    def stored(self, positions: Mapping[QueueKey, int]) -> None:
        """Brokers took these; those that did not are told again."""
        self._stored.update(positions)
