"""Finds messages that were deleted or lost before they were read, and reports them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final, NamedTuple

from gantrymq.base.errors import GantryError
from gantrymq.spark.options.assignment import QueueKey
from gantrymq.spark.source.planning.bounds import QueueBounds

# The most losses that an error text names. It counts the others.
NAMED_MAX: Final = 20


class Cause(Enum):
    """Why messages are lost."""

    EXPIRED = "were deleted before they were read, by the broker's retention (fileReservedTime)"
    TRUNCATED = (
        "were read or planned, and the queue ends before them: a broker lost its last messages, or"
        " the topic was deleted and created again"
    )


class Loss(NamedTuple):
    """The offsets from `first` up to `end` of one queue."""

    queue: QueueKey
    first: int
    end: int
    cause: Cause

    def __str__(self) -> str:
        return f"queue {self.queue}: offsets {self.first} to {self.end - 1} {self.cause.value}"


class DataLossError(GantryError):
    """Messages were lost before they were read."""

    def __init__(self, losses: Iterable[Loss]) -> None:
        self.losses = tuple(losses)
        named = "; ".join(map(str, self.losses[:NAMED_MAX]))
        more = len(self.losses) - NAMED_MAX
        rest = f"; and {more} more queues" if more > 0 else ""
        super().__init__(
            f"messages are lost: {named}{rest}. Set failOnDataLoss=false to continue without them"
        )


def find_losses(positions: Mapping[QueueKey, int], bounds: QueueBounds) -> tuple[Loss, ...]:
    """Return what a reader at these positions cannot read any more, in the order of the queues.

    A queue that no broker has now is not a loss: its brokers may return, and the queue waits.
    """
    losses = []
    for queue, position in sorted(positions.items()):
        has = bounds.get(queue)
        if has is None:
            continue
        if position < has.first:
            losses.append(Loss(queue, position, has.first, Cause.EXPIRED))
        elif position > has.end and has.is_of_master:
            losses.append(Loss(queue, has.end, position, Cause.TRUNCATED))
    return tuple(losses)


def without_losses(
    positions: Mapping[QueueKey, int], losses: Iterable[Loss]
) -> dict[QueueKey, int]:
    """Move the positions to existing messages: behind expired ones, or to the new end."""
    moved = {loss.queue: loss.end if loss.cause is Cause.EXPIRED else loss.first for loss in losses}
    return {queue: moved.get(queue, position) for queue, position in positions.items()}


def lost_messages(losses: Iterable[Loss]) -> int:
    """Count the messages that were never read. Truncated ones had been read, or were never stored
    durably."""
    return sum(loss.end - loss.first for loss in losses if loss.cause is Cause.EXPIRED)
