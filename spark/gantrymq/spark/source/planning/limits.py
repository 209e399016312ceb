"""Decides how many of the waiting messages a micro-batch takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gantrymq.spark.options.assignment import QueueKey
from gantrymq.spark.options.read_options import TriggerLimits

Rows = Mapping[QueueKey, int]

ASSUMED_BYTES: Final = 1024.0
"""The assumed size of a message if the broker reports none."""


def must_wait(waiting: int, limits: TriggerLimits, waited_s: float) -> bool:
    """Whether a micro-batch waits for more messages."""
    return limits.rows_min is not None and waiting < limits.rows_min and waited_s < limits.delay_s


def rows_allowed(
    backlog: Rows, limits: TriggerLimits, average_bytes: Mapping[QueueKey, float]
) -> int:
    """Return how many messages a micro-batch takes, at least one if there is any.

    `average_bytes` is the expected size of a message of each queue; only maxBytesPerTrigger needs
    it.
    """
    waiting = sum(backlog.values())
    rows = waiting if limits.rows_max is None else min(waiting, limits.rows_max)
    if limits.bytes_max is not None and waiting:
        size = sum(
            count * average_bytes.get(queue, ASSUMED_BYTES) for queue, count in backlog.items()
        )
        by_bytes = int(waiting * min(1.0, limits.bytes_max / max(size, 1.0)))
        rows = min(rows, max(1, by_bytes))
    return rows


def shares(backlog: Rows, rows: int, turn: int) -> dict[QueueKey, int]:
    """Divide `rows` messages in proportion to the backlog of each queue.

    Invariant: the shares add up to `rows`, or to the whole backlog if that is less; no share
    exceeds its queue's backlog; and each queue with a backlog gets a message if there are enough
    for all, so that none starves. Otherwise `turn` decides which queues come first: it grows with
    the number of messages read, so that each queue gets its turn.
    """
    waiting = {queue: backlog[queue] for queue in sorted(backlog) if backlog[queue] > 0}
    total = sum(waiting.values())
    if rows >= total:
        return waiting
    queues = list(waiting)
    if rows < len(queues):
        first = turn % len(queues)
        return dict.fromkeys([*queues[first:], *queues[:first]][:rows], 1)
    return _in_proportion(waiting, rows, total)


def _in_proportion(waiting: dict[QueueKey, int], rows: int, total: int) -> dict[QueueKey, int]:
    """Give one message to each queue, and divide the rest by the largest remainder."""
    count = len(waiting)
    free, above = rows - count, total - count
    parts = {queue: divmod(free * (size - 1), above) for queue, size in waiting.items()}
    left = free - sum(whole for whole, _ in parts.values())
    by_remainder = sorted(parts, key=lambda queue: (-parts[queue][1], queue))
    extra = set(by_remainder[:left])
    return {queue: 1 + parts[queue][0] + (queue in extra) for queue in waiting}
