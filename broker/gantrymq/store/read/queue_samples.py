"""Estimates the mean record size of a topic from units of its queues.

Each queue is asked for RUNS runs of RUN_UNITS units, spread evenly from its first message to its
last: 2 560 bytes of each. A queue with fewer messages than that is read as a whole.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.base.disk import DiskError
from gantrymq.store.consumequeue.consumequeue import ConsumeQueue
from gantrymq.store.consumequeue.queue_unit import UNIT, UNIT_BYTES, is_blank
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.store.read.async_reader import ReadTask
from gantrymq.store.read.readable_store import queue_units

RUNS: Final = 8
RUN_UNITS: Final = 16


@final
class RecordSizes:
    """The sizes of sampled records, weighted by the number of messages of their queues."""

    __slots__ = ("_messages", "_weighted_bytes")

    def __init__(self) -> None:
        self._messages = 0
        self._weighted_bytes = 0.0

    def add(self, messages: int, sampled: int, sampled_bytes: int) -> None:
        """Add a sample: `sampled` of the queue's `messages` have `sampled_bytes` bytes together."""
        if sampled:
            self._messages += messages
            self._weighted_bytes += messages * sampled_bytes / sampled

    @property
    def mean(self) -> float:
        """The mean size of a record; 0.0 if there is no message."""
        return self._weighted_bytes / self._messages if self._messages else 0.0


def sampled_sizes(queues: Queues, topic: str) -> ReadTask[RecordSizes]:
    """The sizes of some records of each of the topic's queues."""
    sizes = RecordSizes()
    for queue_id in queues.queue_ids(topic):
        queue = queues.find(topic, queue_id)
        if queue is not None:
            yield from _sample(queue, sizes)
            yield None
    return sizes


def _sample(queue: ConsumeQueue, sizes: RecordSizes) -> ReadTask[None]:
    first, end = queue.minimum, queue.end
    count = end - first
    sampled = sampled_bytes = 0
    step = max(RUN_UNITS, count // RUNS)
    for start in range(first, end, step):
        try:
            data = yield from queue_units(queue, start, min(RUN_UNITS, end - start))
        except DiskError:
            if start >= queue.start:
                raise  # otherwise its file was deleted during the read
            continue
        whole = len(data) // UNIT_BYTES * UNIT_BYTES
        for position, size, _ in UNIT.iter_unpack(data[:whole]):
            if size > 0 and not is_blank(position, size):
                sampled += 1
                sampled_bytes += size
    sizes.add(count, sampled, sampled_bytes)
