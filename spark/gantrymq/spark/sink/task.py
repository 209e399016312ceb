"""Writes the rows of one task on an executor, and reports what was written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from gantrymq.client.bulk.layout import Layout
from gantrymq.client.bulk.outgoing import Origin
from gantrymq.client.bulk.sender import BulkSender
from gantrymq.client.core.errors import MessageError
from gantrymq.spark.sink.queue_choice import QueueChoice
from gantrymq.spark.sink.rows import Row, rows_of
from gantrymq.spark.sink.write_options import WriteOptions

# Where Spark tells the tasks of a stream which query and which micro-batch they are of.
QUERY_ID: Final = "sql.streaming.queryId"
BATCH_ID: Final = "streaming.sql.batchId"


@final
@dataclass(frozen=True)
class TaskWritten(WriterCommitMessage):
    """The report of one task."""

    rows: int
    repeats: int
    """How many of these rows an earlier run had stored."""


@final
@dataclass(frozen=True, slots=True)
class SinkTask:
    """Writes the rows of a task; travels from the driver to executors.

    `fallback_name` is the origin of a write that has no name of its own: the same for all tries of
    its tasks. `proposal` is the layout that the driver found, for the topic of the options.
    """

    options: WriteOptions
    places: Mapping[str, int]
    fallback_name: str
    proposal: Layout | None

    def write(self, batches: Iterator[pa.RecordBatch]) -> TaskWritten:
        """Write all rows, and wait for acknowledgements. Raises MessageError, RouteError and
        SendError."""
        origin = self._origin()
        options = self.options
        with BulkSender(
            options.settings(), origin, options.limits, is_idempotent=options.is_idempotent
        ) as sender:
            choice, layouts = QueueChoice(origin.partition), _Layouts(sender, self.proposal)
            for batch in batches:
                for row in rows_of(batch, self.places):
                    layout = layouts.of(self._topic(row, sender.sent))
                    sender.send(row.message, choice.queue(row, sender.sent, layout))
            sender.flush()
            return TaskWritten(sender.sent, sender.repeats)

    def _origin(self) -> Origin:
        """Return the origin, which is the same for all attempts of this task or micro-batch."""
        context = TaskContext.get()
        assert context is not None, "rows are written in tasks"
        query_id, batch_id = context.getLocalProperty(QUERY_ID), context.getLocalProperty(BATCH_ID)
        name = self.options.sink_id or query_id or self.fallback_name
        return Origin(name, int(batch_id or 0), context.partitionId())

    def _topic(self, row: Row, number: int) -> str:
        topic = self.options.topic or row.topic
        if not topic:
            raise MessageError(f"row {number}: the column topic is null or empty")
        return topic


@final
class _Layouts:
    """The layouts of the topics that a task writes to."""

    __slots__ = ("_known", "_proposal", "_sender")

    def __init__(self, sender: BulkSender, proposal: Layout | None) -> None:
        self._known: dict[str, Layout] = {}
        self._proposal = proposal
        self._sender = sender

    def of(self, topic: str) -> Layout:
        layout = self._known.get(topic)
        if layout is None:
            proposal = self._proposal
            if proposal is not None and proposal.topic != topic:
                proposal = None
            layout = self._known[topic] = self._sender.layout(topic, proposal)
        return layout
