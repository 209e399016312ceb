"""Topics of a simulated group that are deleted and made again: what must be in their queues.

A message counts that was sent and acknowledged while no broker was asked to delete its topic; with
the next such request, whichever broker gets it and whatever comes of it, all of the topic's are
forgotten. Behind a history all members that have such a message in their logs have it in the same
place. And each member's queues go on where its log does; but for one that was asked itself to
delete the topic and had nothing of it since, whose queue is empty.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import final

from gantrymq.sim.checks.group_mirror import Mirror
from gantrymq.store.consumequeue.queues import Queues


@final
@dataclass(frozen=True, slots=True)
class Kept:
    """Where a message is."""

    topic: str
    queue_id: int
    offset: int
    position: int
    key: bytes


@final
class Renewed:
    """Those of one history."""

    def __init__(self) -> None:
        self.deletions: Counter[str] = Counter()
        """How often brokers were asked to delete which topic."""
        self.kept: list[Kept] = []
        self._asked: set[tuple[int, str]] = set()

    def delete(self, key: int, topic: str) -> None:
        """The process with this volume is asked to."""
        self._asked.add((key, topic))
        self.deletions[topic] += 1
        self.kept = [each for each in self.kept if each.topic != topic]

    def takes_over(self, key: int, number: int) -> None:
        """The volume with this key is that member's own from now on."""
        self._asked |= {(number, topic) for asked, topic in self._asked if asked == key}

    def acknowledge(self, message: Kept, deletions: int) -> None:
        """There had been so many of its topic when it was sent."""
        if deletions == self.deletions[message.topic]:
            self.kept.append(message)

    def must_be_in(self, number: int, queues: Queues, mirror: Mirror) -> int:
        """Check that all kept messages of this member's log are in its queues, and count them."""
        found = 0
        for each in self.kept:
            record = mirror.at(each.position)
            if record is None or record.key != each.key:
                continue  # whether the log may lack it others look at
            queue = queues.find(each.topic, each.queue_id)
            assert queue is not None, f"member {number} has no queue for {each}"
            assert queue.start <= each.offset < queue.end, (
                f"member {number} lacks {each}: its queue has {queue.start} to {queue.end}"
            )
            position = queue.unit(each.offset)[0]
            assert position == each.position, f"member {number} has {position} for {each}"
            found += 1
        return found

    def must_go_on(self, number: int, queues: Queues, mirror: Mirror) -> None:
        """This member's queues, where its log does."""
        for topic, queue_id, wanted in mirror.ends():
            queue = queues.find(topic, queue_id)
            end = 0 if queue is None else queue.end
            is_deleted = end == 0 and (number, topic) in self._asked
            assert end == wanted or is_deleted, (
                f"member {number} gives out {end} in {topic} {queue_id}, and {wanted} is next"
            )
