"""Chooses the queue of each row. A row that is sent again goes to the same queue."""

from __future__ import annotations

from typing import Final, final

from gantrymq.client.bulk.layout import Layout
from gantrymq.client.core.errors import MessageError
from gantrymq.spark.sink.rows import Row
from gantrymq.wire.bodies.shared import MessageQueue

# Rows in a row that go to one queue: small writes make few requests, large ones use all queues.
RUN_ROWS: Final = 64


@final
class QueueChoice:
    """Chooses the queue of each row of one task: by queueId, else by shardingKey, else in runs that
    go from queue to queue."""

    __slots__ = ("_partition",)

    def __init__(self, partition: int) -> None:
        """`partition` decides the first queue, so that tasks begin at different queues."""
        self._partition = partition

    def queue(self, row: Row, number: int, layout: Layout) -> MessageQueue:
        """Return the queue of a row; `number` counts the rows of the task. Raises MessageError."""
        if row.queue_id is not None:
            found = layout.find(row.queue_id, row.broker_name)
            if found is None:
                where = f" on broker {row.broker_name}" if row.broker_name else ""
                raise MessageError(
                    f"row {number}: topic {layout.topic} has no queue {row.queue_id}{where} to"
                    " write to; look at mqadmin topicRoute"
                )
            return found
        if row.sharding_key:
            return layout.by_key(row.sharding_key.encode())
        return layout.by_number(self._partition + number // RUN_ROWS)
