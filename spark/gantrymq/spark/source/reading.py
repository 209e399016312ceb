"""Reads the range of one task on an executor: pulls stored messages and makes record batches.

A worker process keeps one puller for each set of settings, and serves task after task with it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from gantrymq.client.bulk import (
    BulkPuller,
    BulkSettings,
    OffsetGoneError,
    QueueRef,
    QueueTruncatedError,
)
from gantrymq.client.core.group.subscriptions import Subscription, subscription
from gantrymq.spark.frames import decode
from gantrymq.spark.options.read_options import ReadOptions
from gantrymq.spark.source.client_keywords import client_tls
from gantrymq.spark.source.planning.bounds import QueueSpan
from gantrymq.spark.source.planning.data_loss import Cause, DataLossError, Loss

log: Final = logging.getLogger("gantrymq.spark")

READERS_GROUP: Final = "TOOLS_CONSUMER"
"""The group of reads without a group: every broker has it for tools."""

TAGS: Final = pa.field("tags", pa.string())


@final
@dataclass(frozen=True, slots=True)
class SpanReader:
    """Reads ranges of queues. The driver sends it to executors."""

    options: ReadOptions
    schema: StructType

    def read(self, span: QueueSpan) -> Iterator[pa.RecordBatch]:
        """Yield all messages of the range that match the filter. If messages are lost, raises
        DataLossError, or logs them if failOnDataLoss is false."""
        wanted = subscription(span.queue.topic, self.options.expression, 0)
        decoding = _Decoding(self.schema, wanted, span)
        while span.start < span.end:
            try:
                for buffer in self._pulled(span, wanted):
                    yield decoding.batch(buffer)
                break
            except QueueTruncatedError as error:
                self._note(Loss(span.queue, error.end_of_queue, span.end, Cause.TRUNCATED))
                break
            except OffsetGoneError as error:
                first_kept = min(error.first_kept, span.end)
                self._note(Loss(span.queue, error.asked, first_kept, Cause.EXPIRED))
                span = span._replace(start=first_kept)

    def _pulled(self, span: QueueSpan, wanted: Subscription) -> Iterator[bytes]:
        queue = QueueRef(*span.queue)
        pull = self.options.pull
        return _puller(self.options).pull(
            queue,
            span.start,
            span.end,
            subscription=wanted,
            bytes_max=pull.bytes_max,
            depth=pull.depth,
        )

    def _note(self, loss: Loss) -> None:
        if self.options.fail_on_data_loss:
            raise DataLossError([loss])
        log.warning("skipping lost messages loss=%s", loss)


@final
class _Decoding:
    """Makes record batches of one range. Brokers compare only hashes of tags, so the tags are
    compared here."""

    def __init__(self, schema: StructType, wanted: Subscription, span: QueueSpan) -> None:
        self._span = span
        self._rows = to_arrow_schema(schema, timezone="UTC")
        self._tags = pa.array(sorted(wanted.tags), pa.string())
        self._decoded = self._rows
        if wanted.tags and self._tag_column() is None:
            self._decoded = self._rows.append(TAGS)

    def batch(self, buffer: bytes) -> pa.RecordBatch:
        span = self._span
        batch = decode(
            buffer,
            span.queue.broker_name,
            self._decoded,
            first_offset=span.start,
            end_offset=span.end,
        )
        column = self._tag_column()
        if not len(self._tags) or column is None:
            return batch
        chosen = batch.filter(pc.is_in(batch.column(column), self._tags))
        return chosen.select(self._rows.names) if len(self._rows) < len(self._decoded) else chosen

    def _tag_column(self) -> int | None:
        names = [name.casefold() for name in self._decoded.names]
        return names.index(TAGS.name) if TAGS.name in names else None


_pullers: dict[BulkSettings, BulkPuller] = {}
"""The pullers of this process. A puller opens new connections after a fork."""


def _puller(options: ReadOptions) -> BulkPuller:
    settings = bulk_settings(options)
    if settings not in _pullers:
        _pullers[settings] = BulkPuller(settings)
    return _pullers[settings]


def bulk_settings(options: ReadOptions) -> BulkSettings:
    """Return the settings of this process's pulls. Raises RocketMQOptionError."""
    connection = options.connection
    return BulkSettings(
        name_servers=connection.name_servers,
        group=options.group or READERS_GROUP,
        credentials_file=connection.credentials_file or "",
        tls=client_tls(connection),
        answer_timeout_s=options.pull.timeout_s,
    )
