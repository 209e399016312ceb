"""Queues that a group consumes in order by pops: one batch is out, and the next one waits for it.

    popped -> all acknowledged                     the queue is free
           -> some are visible again               popped again from the first of them

The group's stored offset is that of the first message that was not acknowledged. A crash forgets
the batches: how often a message had been out, whom the queue waited for, and what was acknowledged
behind that first one. Of a batch from before it the message at the stored offset alone can be
acknowledged, for of those between nobody knows: a crash has messages come twice, and forgets none.
Of one from after it that is not known - it is over, or its topic or group was deleted - none can.

Invariant: a queue waits while a message of its batch is neither acknowledged nor visible again,
but not for the attempt that popped the batch: that one lost the answer and asks once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, final

from gantrymq.broker.core.pops.checkouts import NEVER_MS, Place

# Queues of groups that consume in order: 1 kB each, and the name of an attempt.
ORDERS_MAX: Final = 50_000

# Clients make them of 36; each is kept as long as its batch is out.
ATTEMPT_CHARACTERS_MAX: Final = 256


class AckFault(Enum):
    """Why an acknowledgement does not move the offset."""

    STALE = "another pop gave the message out meanwhile, or its batch is not known any more"
    UNKNOWN = "it is not in the batch that is out"


@final
@dataclass(slots=True)
class Batch:
    """What one pop gave out."""

    attempt_id: str | None
    pop_ms: int
    offsets: Sequence[int]
    visible_ms: dict[int, int]
    """When each is visible again that was not acknowledged, by offset."""
    counts: dict[int, int] = field(default_factory=dict)
    """How often those have been out before that have."""

    def waits(self, wall_ms: int) -> bool:
        return any(visible_ms > wall_ms for visible_ms in self.visible_ms.values())


@final
class Orders:
    """Of one broker."""

    __slots__ = ("_batches", "_since_ms")

    def __init__(self, since_ms: int) -> None:
        """Of what was popped before then nothing is known."""
        self._batches: dict[Place, Batch] = {}
        self._since_ms = since_ms

    @property
    def is_full(self) -> bool:
        return len(self._batches) >= ORDERS_MAX

    def waits(self, place: Place, attempt_id: str | None, wall_ms: int) -> bool:
        """Whether this attempt gets nothing of the queue now."""
        batch = self._batches.get(place)
        if batch is None or (attempt_id is not None and batch.attempt_id == attempt_id):
            return False
        return batch.waits(wall_ms)

    def take(
        self, place: Place, attempt_id: str | None, pop_ms: int, due_ms: int, offsets: Sequence[int]
    ) -> Batch:
        """These went out, in place of the batch before."""
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
        """Where the group is now, which was at `stored`."""
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
        """Until then; nothing happens where it is not out."""
        batch = self._batches.get(place)
        if batch is not None and batch.pop_ms == pop_ms and offset in batch.visible_ms:
            batch.visible_ms[offset] = due_ms

    def forget(self, place: Place) -> None:
        """The group goes on elsewhere."""
        self._batches.pop(place, None)

    def remove(self, group: str | None, topic: str | None) -> None:
        """All of a group, or of a topic."""
        for place in list(self._batches):
            if group in (None, place[0]) and topic in (None, place[1]):
                del self._batches[place]

    def visible_again(self, wall_ms: int) -> list[Place]:
        """Queues that wait for nothing, though not all was acknowledged."""
        return [place for place, batch in self._batches.items() if not batch.waits(wall_ms)]

    def next_ms(self, wall_ms: int) -> int:
        """When the first queue that waits does so no more."""
        return min(self._ends(wall_ms), default=NEVER_MS)

    def _ends(self, wall_ms: int) -> Iterator[int]:
        for batch in self._batches.values():
            if batch.waits(wall_ms):
                yield max(batch.visible_ms.values())
