"""Reads queues without end: `spark.readStream.format("rocketmq")`.

Spark creates a reader in several processes. The one that is asked for offsets keeps a StreamWatch
while the query runs; executors have none, and only call `read`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from gantrymq.spark.options.read_options import StreamOptions
from gantrymq.spark.options.table import ROWS_MAX
from gantrymq.spark.source import places
from gantrymq.spark.source.planning.data_loss import DataLossError
from gantrymq.spark.source.planning.micro_batch import clamp, spans_between
from gantrymq.spark.source.planning.positions import starting_positions
from gantrymq.spark.source.planning.splits import split
from gantrymq.spark.source.reading import SpanReader
from gantrymq.spark.source.row_schema import row_schema
from gantrymq.spark.source.stream_offset import StreamOffset
from gantrymq.spark.source.stream_watch import StreamWatch, View
from gantrymq.spark.source.trigger import Trigger

log: Final = logging.getLogger("gantrymq.spark")

# Any: the value of a JSON object
Json = dict[str, Any]


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads for one streaming query. Method names are Spark's."""

    def __init__(self, options: StreamOptions, schema: StructType) -> None:
        """Raises RocketMQOptionError on an unsupported schema."""
        row_schema(schema)
        self._options = options
        self._reader = SpanReader(options.read, schema)
        self._watch: StreamWatch | None = None
        self._trigger: Trigger | None = None
        self._initial: Json | None = None
        self._reported: tuple[View, Json] | None = None

    def __getstate__(self) -> Json:
        """Return the state that executors need, which read and watch nothing."""
        return {**self.__dict__, "_watch": None, "_trigger": None, "_reported": None}

    # ------------------------------------------------------------------ on the driver

    def initialOffset(self) -> Json:
        """Return where a new query begins, the same on each call."""
        if self._initial is None:
            watch, place = self._watching(), self._options.starting
            view = watch.refreshed()
            found = places.find(place, watch.cluster, view.layout, view.bounds)
            positions = starting_positions(place, view.bounds, found)
            self._initial = StreamOffset(positions, is_initial=True).to_json()
        return self._initial

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return one limit that stands for all limits of the options, because Spark has no limit
        that combines several."""
        limits = self._options.limits
        if limits.rows_max is limits.bytes_max is limits.rows_min is None:
            return ReadAllAvailable()
        return ReadMaxRows(limits.rows_max or ROWS_MAX)

    def latestOffset(self, start: Json, limit: ReadLimit) -> Json:
        """Return the end of the next micro-batch, or `start` if there is none. All before `start`
        is processed."""
        offset = StreamOffset.from_json(start)
        self._watching()
        assert self._trigger is not None, "a watch comes with its trigger"
        is_limited = not isinstance(limit, ReadAllAvailable)
        end = self._trigger.next_end(offset, is_limited=is_limited)
        return start if end is offset else end.to_json()

    def reportLatestOffset(self) -> Json:
        """Return the ends of all queues, for Spark's progress reports. Spark calls it often."""
        view = self._watching().view
        if self._reported is None or self._reported[0] is not view:
            ends = {queue: has.end for queue, has in view.bounds.items()}
            self._reported = view, StreamOffset(ends).to_json()
        return self._reported[1]

    def prepareForTriggerAvailableNow(self) -> None:
        """Read the existing messages, and end."""
        self._watching()
        assert self._trigger is not None, "a watch comes with its trigger"
        self._trigger.freeze()

    def partitions(self, start: Json, end: Json) -> list[InputPartition]:
        """Return the ranges of the tasks of a micro-batch, the same in a replay."""
        spans = spans_between(StreamOffset.from_json(start), StreamOffset.from_json(end))
        kept, losses = clamp(spans, self._watching().view.bounds)
        if losses and self._options.read.fail_on_data_loss:
            raise DataLossError(losses)
        for loss in losses:
            log.warning("skipping lost messages loss=%s", loss)
        return [InputPartition(span) for span in split(kept, self._options.read.splits)]

    def commit(self, end: Json) -> None:
        """Note that all before `end` is processed."""
        self._watching().done(StreamOffset.from_json(end).positions)

    def stop(self) -> None:
        """Close the watch. Spark may end the process without calling it."""
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.close()

    def _watching(self) -> StreamWatch:
        if self._watch is None:
            watch = StreamWatch(self._options)
            watch.start()
            self._watch, self._trigger = watch, Trigger(self._options, watch)
        return self._watch

    # ------------------------------------------------------------------ on executors

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the rows of one task."""
        return self._reader.read(partition.value)
