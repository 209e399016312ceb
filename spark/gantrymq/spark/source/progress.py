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
    """Split queues whose offsets are to be stored: one queue of each topic at each broker is stored
    first, and the second list after it.

    A Java broker makes a group's table of offsets when it stores the first one. If it gets offsets
    of several queues of a new group at once, it makes a table for each of them and keeps only the
    last table. It loses the other offsets and answers that it stored them (RocketMQ issue 10700).
    """
    firsts: dict[tuple[str, str], QueueKey] = {}
    known = list(queues)
    for queue in known:
        firsts.setdefault((queue.topic, queue.broker_name), queue)
    first = set(firsts.values())
    return list(firsts.values()), [queue for queue in known if queue not in first]


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
