"""Stores where topics' queues are: broker name -> QueueData, as values that topics share.

Most topics of a cluster are on the same brokers with the same queue numbers. A `Placement` is one
such arrangement, and topics only point to it. So ten thousand topics on fifty brokers cost ten
thousand pointers, and one encoded route serves all topics of a placement (it has no topic name).

Invariants: a placement is never empty and never changes; equal placements are one object; a
placement without topics is dropped at once. `placed_queues` is the size of all placements.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import final

from gantrymq.wire.bodies.route import QueueData


@final
class Placement:
    """One arrangement of queues, sorted by broker name."""

    __slots__ = ("queues", "topics")

    def __init__(self, queues: tuple[QueueData, ...]) -> None:
        assert queues, "a topic without queues is no topic"
        self.queues = queues
        self.topics = 0
        """The number of topics that point here; changes only inside `TopicTable`."""

    def on(self, broker_name: str) -> QueueData | None:
        """The queues on one broker name; None if there are none."""
        at = bisect_left(self.queues, broker_name, key=_broker_name)
        if at < len(self.queues) and self.queues[at].broker_name == broker_name:
            return self.queues[at]
        return None

    def __contains__(self, broker_name: str) -> bool:
        return self.on(broker_name) is not None

    def queues_with(self, queue: QueueData) -> tuple[QueueData, ...]:
        """The queues with this one added, or replacing that of its broker."""
        at = bisect_left(self.queues, queue.broker_name, key=_broker_name)
        after = at + 1 if queue.broker_name in self else at
        return (*self.queues[:at], queue, *self.queues[after:])


@final
class TopicTable:
    """The placement of each topic."""

    __slots__ = ("_placements", "_shared", "placed_queues")

    def __init__(self) -> None:
        self._placements: dict[str, Placement] = {}
        self._shared: dict[tuple[QueueData, ...], Placement] = {}
        self.placed_queues = 0

    def __len__(self) -> int:
        return len(self._placements)

    def __iter__(self) -> Iterator[str]:
        return iter(self._placements)

    def __contains__(self, topic: str) -> bool:
        return topic in self._placements

    def get(self, topic: str) -> Placement | None:
        return self._placements.get(topic)

    def placements(self) -> set[Placement]:
        """The distinct placements."""
        return set(self._shared.values())

    def topics_where(self, holds: Callable[[Placement], bool]) -> list[str]:
        """Topics whose placement satisfies `holds`, which is called once for each placement."""
        chosen = {placement for placement in self._shared.values() if holds(placement)}
        return [topic for topic, placement in self._placements.items() if placement in chosen]

    def place(self, items: Iterable[tuple[str, QueueData]]) -> None:
        """Set each topic's queues on a broker, replacing those on the same broker."""
        moves: dict[tuple[Placement | None, QueueData], Placement] = {}
        for topic, queue in items:
            before = self._placements.get(topic)
            after = moves.get((before, queue))
            if after is None or not after.topics:
                after = moves[before, queue] = self._with(before, queue)
            self._point(topic, after)

    def growth(self, items: Iterable[tuple[str, QueueData]]) -> int:
        """By how much `placed_queues` grows at most if these are placed."""
        moves = {(self._placements.get(topic), queue) for topic, queue in items}
        return sum(
            1 if before is None else len(before.queues) + 1
            for before, queue in moves
            if before is None or before.on(queue.broker_name) != queue
        )

    def has_room_without(self, topics: Iterable[str], queues_max: int) -> bool:
        """Whether the table has room if brokers leave these topics: each may get a new
        placement."""
        left = {self._placements[topic] for topic in topics}
        return self.placed_queues + sum(len(each.queues) - 1 for each in left) <= queues_max

    def remove(self, topic: str) -> Placement | None:
        before = self._placements.get(topic)
        if before is not None:
            self._point(topic, None)
        return before

    def remove_brokers(self, topics: Iterable[str], broker_names: frozenset[str]) -> list[str]:
        """Remove the brokers from the topics' placements; topics without queues are removed.

        Returns the removed topics.
        """

        def stays(queue: QueueData) -> QueueData | None:
            return None if queue.broker_name in broker_names else queue

        return self._change(topics, stays)

    def replace(self, broker_name: str, change: Callable[[QueueData], QueueData]) -> int:
        """Change the queues of one broker in every topic; returns the number of topics."""
        topics = self.topics_where(lambda placement: broker_name in placement)
        self._change(
            topics, lambda queue: change(queue) if queue.broker_name == broker_name else queue
        )
        return len(topics)

    def _change(
        self, topics: Iterable[str], change: Callable[[QueueData], QueueData | None]
    ) -> list[str]:
        moves: dict[Placement, Placement | None] = {}
        ended: list[str] = []
        for topic in topics:
            before = self._placements[topic]
            if before not in moves:
                changed = (change(queue) for queue in before.queues)
                queues = tuple(queue for queue in changed if queue is not None)
                moves[before] = self._of(queues) if queues else None
            after = moves[before]
            self._point(topic, after)
            if after is None:
                ended.append(topic)
        return ended

    def _with(self, placement: Placement | None, queue: QueueData) -> Placement:
        return self._of((queue,) if placement is None else placement.queues_with(queue))

    def _of(self, queues: tuple[QueueData, ...]) -> Placement:
        """The placement of these queues; a topic must point to it next."""
        return self._shared.get(queues) or Placement(queues)

    def _point(self, topic: str, after: Placement | None) -> None:
        """Point the topic to this placement; None removes the topic."""
        before = self._placements.get(topic)
        if after is before:
            return
        if after is None:
            del self._placements[topic]
        else:
            self._placements[topic] = after
            if not after.topics:
                self._shared[after.queues] = after
                self.placed_queues += len(after.queues)
            after.topics += 1
        if before is not None:
            before.topics -= 1
            if not before.topics:
                del self._shared[before.queues]
                self.placed_queues -= len(before.queues)


def _broker_name(queue: QueueData) -> str:
    return queue.broker_name
