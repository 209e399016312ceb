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
    """The messages that a stream at one offset has not read yet.

    `positions` has the next offset of each queue: those of the stream's offset without lost
    messages, and new queues at their earliest message. A queue that no broker has now keeps its
    position.
    """

    start: StreamOffset
    positions: Mapping[QueueKey, int]
    backlog: Mapping[QueueKey, int]
    losses: tuple[Loss, ...]

    @property
    def waiting(self) -> int:
        """The total number of waiting messages."""
        return sum(self.backlog.values())

    def end(self, rows: int) -> StreamOffset:
        """Return the end of a micro-batch of `rows` messages; `start` itself if nothing changes."""
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
    """Return what waits for a stream at `start`; with a target, what is left up to the target."""
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
    """Return the ranges of a micro-batch. A replayed one has the ranges of its first run.

    Spark also plans batches without data, such as for timers: those end where they start.
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
    """Return the ranges without lost messages, and the losses.

    Messages missing at the end of a queue are not counted here: a task that reaches them waits for
    a broker that returns after a failover, and decides then.
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
