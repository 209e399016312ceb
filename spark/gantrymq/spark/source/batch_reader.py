"""Reads a range of each queue once: `spark.read.format("rocketmq")`."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from gantrymq.spark.options.read_options import BatchOptions
from gantrymq.spark.source import places
from gantrymq.spark.source.cluster import Cluster
from gantrymq.spark.source.planning.bounds import QueueSpan
from gantrymq.spark.source.planning.data_loss import DataLossError
from gantrymq.spark.source.planning.micro_batch import clamp
from gantrymq.spark.source.planning.positions import ending_positions, starting_positions
from gantrymq.spark.source.planning.pushed_filters import PushedFilters
from gantrymq.spark.source.planning.splits import split
from gantrymq.spark.source.reading import SpanReader
from gantrymq.spark.source.row_schema import row_schema

log: Final = logging.getLogger("gantrymq.spark")


class BatchReader(DataSourceReader):
    """Reads for one batch query. Spark calls `partitions` on the driver and `read` on executors."""

    def __init__(self, options: BatchOptions, schema: StructType) -> None:
        """Raises RocketMQOptionError on an unsupported schema."""
        row_schema(schema)
        self._options = options
        self._pushed = PushedFilters()
        self._reader = SpanReader(options.read, schema)

    def partitions(self) -> list[InputPartition]:
        """Return the ranges of the tasks. Raises an error if the read cannot begin."""
        spans = list(self._pushed.kept(self._spans()))
        return [InputPartition(span) for span in split(spans, self._options.read.splits)]

    def _spans(self) -> list[QueueSpan]:
        options = self._options
        with Cluster(options.read.connection) as cluster:
            layout = cluster.layout(options.read.selection, must_be_there=True)
            bounds = cluster.bounds(layout).all()
            found = places.find(options.starting, cluster, layout, bounds)
            starts = starting_positions(options.starting, bounds, found)
            found = places.find(options.ending, cluster, layout, bounds)
            ends = ending_positions(options.ending, bounds, found)
        spans = [
            QueueSpan(queue, start, ends[queue])
            for queue, start in sorted(starts.items())
            if start < ends[queue]
        ]
        kept, losses = clamp(spans, bounds)
        if losses and options.read.fail_on_data_loss:
            raise DataLossError(losses)
        for loss in losses:
            log.warning("skipping lost messages loss=%s", loss)
        return kept

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task; Spark makes a partition without a value where there is none."""
        if partition.value is None:
            return iter(())
        return self._reader.read(partition.value)


class FilteringBatchReader(BatchReader):
    """A batch reader that uses the query's filters. It is created only on demand, because Spark
    fails a query whose reader accepts filters while spark.sql.python.filterPushdown.enabled is
    false."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Leave out ranges that cannot match; return all filters, so that Spark applies them."""
        self._pushed = PushedFilters.of(filters)
        return filters
