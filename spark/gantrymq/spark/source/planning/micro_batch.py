"""Decides where the next micro-batch of a stream ends, and what its tasks read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from gantrymq.spark.options.assignment import QueueKey
from gantrymq.spark.source.planning.bounds import QueueBounds, QueueSpan
from gantrymq.spark.source.planning.data_loss import (
    Cause,
    Loss,
    find_losses,
    lost_messages,
    without_losses,
)
from gantrymq.spark.source.planning.limits import shares
from gantrymq.spark.source.stream_offset import StreamOffset


@final
@dataclass(frozen=True, slots=True)
class Pending:
    """What a stream at one offset has not read yet.

    `positions` is where each queue goes on: those of the offset without what is lost, and new
    queues at their earliest message. A queue that no broker has now stays where it is.
    """

    start: StreamOffset
    positions: Mapping[QueueKey, int]
    backlog: Mapping[QueueKey, int]
    losses: tuple[Loss, ...]

    @property
    def waiting(self) -> int:
        """How many messages wait in all."""
        return sum(self.backlog.values())

    def end(self, rows: int) -> StreamOffset:
        """The end of a micro-batch of so many messages: `start` itself where nothing changes."""
        taken = shares(self.backlog, rows, sum(self.positions.values()))
        ends = {queue: at + taken.get(queue, 0) for queue, at in self.positions.items()}
        start = self.start
        if ends == start.positions:
            return start
        bases = {
            queue: at
            for queue, at in self.positions.items()
            if start.is_initial or start.positions.get(queue) != at
        }
        return StreamOffset(ends, bases, lost=start.lost + lost_messages(self.losses))


def pending(
    start: StreamOffset, bounds: QueueBounds, target: Mapping[QueueKey, int] | None = None
) -> Pending:
    """What waits for a stream at `start`; with a target, what is left of that."""
    new = {
        queue: has.first
        for queue, has in bounds.items()
        if queue not in start.positions and (target is None or queue in target)
    }
    losses = find_losses(start.positions, bounds)
    positions = {**without_losses(start.positions, losses), **new}
    backlog = {}
    for queue, at in positions.items():
        if (has := bounds.get(queue)) is not None:
            end = has.end if target is None else min(has.end, target.get(queue, at))
            backlog[queue] = max(0, end - at)
    return Pending(start, positions, backlog, losses)


def spans_between(start: StreamOffset, end: StreamOffset) -> list[QueueSpan]:
    """The ranges of a micro-batch; of a replayed one, those that it had the first time.

    Spark also plans batches without data, for timers say: those end where they start.
    """
    if end == start:
        return []
    base = end.base(start)
    return [
        QueueSpan(queue, base[queue], last)
        for queue, last in sorted(end.positions.items())
        if last > base[queue]
    ]


def clamp(spans: list[QueueSpan], bounds: QueueBounds) -> tuple[list[QueueSpan], tuple[Loss, ...]]:
    """The ranges without what is gone, and what is gone of them.

    What is lacking at a queue's end is not looked for here: a task that reaches it waits for a
    broker that is back after a failover, and decides then.
    """
    starts = {span.queue: span.start for span in spans}
    ends = {span.queue: span.end for span in spans}
    losses = tuple(
        loss._replace(end=min(loss.end, ends[loss.queue]))
        for loss in find_losses(starts, bounds)
        if loss.cause is Cause.EXPIRED
    )
    moved = without_losses(starts, losses)
    return [span._replace(start=moved[span.queue]) for span in spans], losses
