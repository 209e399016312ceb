"""Provides the writers that Spark creates on the driver for each batch and micro-batch.

Tasks send rows to brokers while they run, so there is nothing to commit. A failed write leaves the
messages that it has sent; when an idempotent write runs again, it stores only the rest.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator, Mapping
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from gantrymq.client.bulk.connections import Connections
from gantrymq.client.bulk.layout import Layout
from gantrymq.spark.options.errors import RocketMQOptionError
from gantrymq.spark.sink.row_columns import row_columns
from gantrymq.spark.sink.task import SinkTask, TaskWritten
from gantrymq.spark.sink.write_options import WriteOptions, write_options

log: Final = logging.getLogger("gantrymq.spark")


class BatchWriter(DataSourceArrowWriter):
    """The writer of `df.write`."""

    def __init__(self, texts: Mapping[str, str], schema: StructType, *, overwrite: bool) -> None:
        """Raises RocketMQOptionError and RouteError, before any task starts."""
        if overwrite:
            raise RocketMQOptionError(
                "mode overwrite cannot be used: messages stay until retention removes them; write"
                ' with mode("append")'
            )
        self._task = sink_task(write_options(texts, is_stream=False), schema)

    # override: Spark's own Arrow writers narrow what their base takes.
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:  # type: ignore[override]
        """The rows of one task."""
        return self._task.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Do nothing but warn if an earlier run had stored some of the rows."""
        written = [each for each in messages if isinstance(each, TaskWritten)]
        rows, repeats = sum(each.rows for each in written), sum(each.repeats for each in written)
        if repeats:
            log.warning(
                "rows were stored by an earlier run sinkId=%s rows=%d repeats=%d; a write of other"
                " rows needs another sinkId",
                self._task.options.sink_id,
                rows,
                repeats,
            )


class StreamWriter(DataSourceStreamArrowWriter):
    """The writer of `df.writeStream`; Spark makes one for each micro-batch."""

    def __init__(self, texts: Mapping[str, str], schema: StructType, *, overwrite: bool) -> None:
        """Raises RocketMQOptionError and RouteError, before any task starts."""
        if overwrite:
            raise RocketMQOptionError(
                "output mode complete cannot be used: messages cannot be taken back; use append or"
                " update"
            )
        self._task = sink_task(write_options(texts, is_stream=True), schema)

    # override: Spark's own Arrow writers narrow what their base takes.
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:  # type: ignore[override]
        """The rows of one task of a micro-batch."""
        return self._task.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Do nothing: all rows of the micro-batch are stored already."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Do nothing: stored messages stay, and the repeated micro-batch stores only the rest."""


def sink_task(options: WriteOptions, schema: StructType) -> SinkTask:
    """Return the task of this write. Raises RocketMQOptionError and RouteError."""
    places = row_columns(schema, options.topic)
    return SinkTask(options, places, f"write-{uuid.uuid4()}", _proposal(options))


def _proposal(options: WriteOptions) -> Layout | None:
    """Return the queues of the topic of the options, which all tasks use."""
    if options.topic is None:
        return None
    connections = Connections(options.settings())
    try:
        return Layout(options.topic, connections.queues_to_write(options.topic))
    finally:
        connections.close()
