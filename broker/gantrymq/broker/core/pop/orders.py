"""Tracks queues that a group pops in order: at most one batch of a queue is in flight.

    popped -> all acknowledged                     the queue is free
           -> some are visible again               popped again from the first of them

The group's stored offset is that of the first message that is not acknowledged. A crash loses the
batches: the delivery counts, the attempt that popped each batch, and acknowledgements after the
first unacknowledged message. Of a batch from before the crash, only the message at the stored
offset can be acknowledged, because the state of the later ones is unknown; a crash may deliver
messages twice, but loses none. Of a later batch that is not known (it is complete, or its topic or
group was deleted) none can be acknowledged.

Invariant: a queue is blocked while a message of its batch is neither acknowledged nor visible
again. The attempt that popped the batch is not blocked: it lost the answer and repeats its request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, final

from gantrymq.broker.core.tables.in_flight import NEVER_MS, Place

# The most queues with a batch: 1 kB each, and the name of an attempt.
ORDERS_MAX: Final = 50_000

# Clients use 36 characters; each name is kept as long as its batch is in flight.
ATTEMPT_CHARACTERS_MAX: Final = 256


class AckFault(Enum):
    """Why an acknowledgement does not move the offset."""

    STALE = "another pop gave the message out meanwhile, or its batch is not known any more"
    UNKNOWN = "it is not in the batch that is out"


@final
@dataclass(slots=True)
class Batch:
    """The messages that one pop returned."""

    attempt_id: str | None
    pop_ms: int
    offsets: Sequence[int]
    visible_ms: dict[int, int]
    """By offset of each message that is not acknowledged, when it becomes visible again."""
    counts: dict[int, int] = field(default_factory=dict)
    """By offset, the number of earlier deliveries, for messages that have any."""

    def waits(self, wall_ms: int) -> bool:
        return any(visible_ms > wall_ms for visible_ms in self.visible_ms.values())


@final
class Orders:
    """The batches in flight of one broker; owned by `Pops`."""

    __slots__ = ("_batches", "_since_ms")

    def __init__(self, since_ms: int) -> None:
        """Batches popped before `since_ms` are unknown."""
        self._batches: dict[Place, Batch] = {}
        self._since_ms = since_ms

    @property
    def is_full(self) -> bool:
        return len(self._batches) >= ORDERS_MAX

    def waits(self, place: Place, attempt_id: str | None, wall_ms: int) -> bool:
        """Whether the queue is blocked for this attempt."""
        batch = self._batches.get(place)
        if batch is None or (attempt_id is not None and batch.attempt_id == attempt_id):
            return False
        return batch.waits(wall_ms)

    def take(
        self, place: Place, attempt_id: str | None, pop_ms: int, due_ms: int, offsets: Sequence[int]
    ) -> Batch:
        """Record a new batch, in place of the one before."""
        batch = Batch(attempt_id, pop_ms, offsets, dict.fromkeys(offsets, due_ms))
        before = self._batches.get(place)
        if before is not None:
            again = 0 if attempt_id is not None and attempt_id == before.attempt_id else 1
            batch.counts = {
                offset: before.counts.get(offset, 0) + again
                for offset in offsets
                if offset in before.offsets
            }
        self._batches[place] = batch
        return batch

    def ack(self, place: Place, offset: int, pop_ms: int, stored: int | None) -> int | AckFault:
        """Acknowledge a message; return the group's new offset, which was `stored` before, or the
        fault."""
        batch = self._batches.get(place)
        if batch is None:
            is_of_old = pop_ms <= self._since_ms
            return offset + 1 if is_of_old and offset == stored else AckFault.STALE
        if batch.pop_ms != pop_ms:
            return AckFault.STALE
        if offset not in batch.offsets:
            return AckFault.UNKNOWN
        batch.visible_ms.pop(offset, None)
        if batch.visible_ms:
            return min(batch.visible_ms)
        del self._batches[place]
        return batch.offsets[-1] + 1

    def keep_out(self, place: Place, offset: int, pop_ms: int, due_ms: int) -> None:
        """Keep the message invisible until `due_ms`, if it is in flight."""
        batch = self._batches.get(place)
        if batch is not None and batch.pop_ms == pop_ms and offset in batch.visible_ms:
            batch.visible_ms[offset] = due_ms

    def forget(self, place: Place) -> None:
        """Drop the batch of a queue, because the group's offset was reset."""
        self._batches.pop(place, None)

    def remove(self, group: str | None, topic: str | None) -> None:
        """Drop the batches of a group, or of a topic."""
        for place in list(self._batches):
            if group in (None, place[0]) and topic in (None, place[1]):
                del self._batches[place]

    def visible_again(self, wall_ms: int) -> list[Place]:
        """Queues that are not blocked any more, though not all of their batch was acknowledged."""
        return [place for place, batch in self._batches.items() if not batch.waits(wall_ms)]

    def next_ms(self, wall_ms: int) -> int:
        """When the first blocked queue is no longer blocked."""
        return min(self._ends(wall_ms), default=NEVER_MS)

    def _ends(self, wall_ms: int) -> Iterator[int]:
        for batch in self._batches.values():
            if batch.waits(wall_ms):
                yield max(batch.visible_ms.values())
