"""Finds out which messages are gone that were still to be read, and says so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final, NamedTuple

from gantrymq.base.errors import GantryError
from gantrymq.spark.options.assignment import QueueKey
from gantrymq.spark.source.planning.bounds import QueueBounds

# An error text names so many losses, and counts the rest.
NAMED_MAX: Final = 20


class Cause(Enum):
    """Why messages are gone."""

    EXPIRED = "were deleted before they were read, by the broker's retention (fileReservedTime)"
    TRUNCATED = (
        "were read or planned, and the queue ends before them: a broker lost its last messages, or"
        " the topic was deleted and made anew"
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
    """Messages that had to be read are gone."""

    def __init__(self, losses: Iterable[Loss]) -> None:
        self.losses = tuple(losses)
        named = "; ".join(map(str, self.losses[:NAMED_MAX]))
        more = len(self.losses) - NAMED_MAX
        rest = f"; and {more} more queues" if more > 0 else ""
        super().__init__(
            f"messages are lost: {named}{rest}. Set failOnDataLoss=false to go on without them"
        )


def find_losses(positions: Mapping[QueueKey, int], bounds: QueueBounds) -> tuple[Loss, ...]:
    """What a reader at these positions cannot read any more, in the order of the queues.

    A queue that no broker has now is none: its brokers may be back soon, and it waits for them.
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
    """The positions moved to where messages are: behind what expired, or to the new end."""
    moved = {loss.queue: loss.end if loss.cause is Cause.EXPIRED else loss.first for loss in losses}
    return {queue: moved.get(queue, position) for queue, position in positions.items()}


def lost_messages(losses: Iterable[Loss]) -> int:
    """How many were never read: what was truncated had been, or was never stored for good."""
    return sum(loss.end - loss.first for loss in losses if loss.cause is Cause.EXPIRED)
