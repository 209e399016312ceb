"""Decides which progress of a stream is committed for its consumer group, and when.

Spark reports the progress of a stream several times, and late. Only the checkpoint decides where
the stream resumes; the committed offsets serve people and alerts. Invariant: a queue's committed
offset never decreases while the stream runs, and brokers get at most one commit in STORE_SECONDS.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, final

from gantrymq.spark.options.assignment import QueueKey

STORE_SECONDS: Final = 1.0

NEVER: Final = float("-inf")


def in_turns(queues: Iterable[QueueKey]) -> tuple[list[QueueKey], list[QueueKey]]:
    """Split queues whose offsets will be stored: one queue of each topic at each broker is stored
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
    """The progress of a stream, and the part of it that brokers have stored."""

    def __init__(self) -> None:
        self._done: dict[QueueKey, int] = {}
        self._stored: dict[QueueKey, int] = {}
        self._asked_at = NEVER

    def advance(self, positions: Mapping[QueueKey, int]) -> None:
        """Note that all messages before these positions are processed."""
        for queue, position in positions.items():
            if position > self._done.get(queue, -1):
                self._done[queue] = position

    def due(self, now: float) -> dict[QueueKey, int]:
        """Return the offsets to commit now; none before STORE_SECONDS have passed."""
        if now < self._asked_at + STORE_SECONDS:
            return {}
        return self.unstored()

    def unstored(self) -> dict[QueueKey, int]:
        """Return the offsets that brokers have not stored yet."""
        return {
            queue: position
            for queue, position in self._done.items()
            if self._stored.get(queue) != position
        }

    def asked(self, now: float) -> None:
        """Note that a commit has begun."""
        self._asked_at = now

    def stored(self, positions: Mapping[QueueKey, int]) -> None:
        """Note the offsets that brokers have stored. The others are committed again."""
        self._stored.update(positions)
