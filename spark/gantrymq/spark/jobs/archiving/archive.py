"""Runs the job `archive`, which writes topics into files, each message once.

Each micro-batch goes through three steps, and after a crash the first step is repeated: write the
batch under its own name, read back what was written, write the record. Spark's own file sink would
keep a log that only Spark reads, and that compaction would break, so `foreachBatch` writes the
files. The key of a row is (topic, brokerName, queueId, queueOffset).
"""

from __future__ import annotations

import json
import sys
from typing import Final, final

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark's documents
from pyspark.sql.streaming.query import StreamingQuery

from gantrymq.spark.jobs.archiving.archive_record import (
    QueueCount,
    Record,
    RecordFolder,
    furthest,
    nested,
)
from gantrymq.spark.jobs.archiving.files import Files
from gantrymq.spark.jobs.archiving.rows import FORMAT
from gantrymq.spark.jobs.archiving.tables import SCHEMA, ArchiveTable, archive_table, batch_name
from gantrymq.spark.jobs.arguments import ArchiveArguments
from gantrymq.spark.jobs.ending import Ending
from gantrymq.spark.jobs.failures import DONE, JobError
from gantrymq.spark.jobs.streams import BatchGate, run_to_end
from gantrymq.spark.jobs.summary import Summary, Table, Value
from gantrymq.spark.metrics import serve
from gantrymq.spark.options import table
from gantrymq.spark.options.assignment import QueueKey
from gantrymq.spark.options.values import OptionValues

_QUERY_ID: Final = "sql.streaming.queryId"


@final
class Archiver:
    """Writes micro-batches of one streaming query, and counts what this run archived."""

    def __init__(self, archive: ArchiveTable, records: RecordFolder) -> None:
        self._archive = archive
        self._records = records
        self.counts: dict[QueueKey, tuple[int, int]] = {}
        """The rows and bytes of this run, by queue."""
        self.record: Record | None = None

    def write(self, rows: DataFrame, batch_id: int) -> None:
        """The function of `foreachBatch`."""
        query = str(rows.sparkSession.sparkContext.getLocalProperty(_QUERY_ID))
        record = self._records.of(query)
        self.record = record
        if batch_id <= record.batch:
            _tell(f"micro-batch was archived before batch={batch_id}")
            return
        counts = self._write(rows, query, batch_id)
        self.record = record.after(batch_id, counts)
        self._records.write(self.record)
        for each in counts:
            rows_before, bytes_before = self.counts.get(each.queue, (0, 0))
            self.counts[each.queue] = rows_before + each.rows, bytes_before + each.size
        total = sum(each.rows for each in counts)
        _tell(f"archived micro-batch batch={batch_id} rows={total} queues={len(counts)}")

    def _write(self, rows: DataFrame, query: str, batch_id: int) -> list[QueueCount]:
        batch = batch_name(query, batch_id)
        dated = rows.withColumn("day", F.to_date("storeTimestamp")).withColumn(
            "batch", F.lit(batch)
        )
        written = self._archive.write(dated.select(*SCHEMA.names), query, batch_id)
        if written.rows is None:
            return []
        counts = [_queue_count(each) for each in _by_queue(written.rows)]
        found = sum(each.rows for each in counts)
        if written.expected not in {None, found}:
            raise JobError(
                f"batch {batch} has {written.expected} messages, and {found} were found in the"
                " archive after they had been written: see whether another process changes its"
                " files, and run the job again"
            )
        return counts


def run(spark: SparkSession, arguments: ArchiveArguments, ending: Ending) -> Summary:
    """Archive all messages that exist at the start, or continue until the job is asked to end."""
    files = Files(spark, arguments.path)
    records = RecordFolder(files, arguments.path)
    archiver = Archiver(archive_table(spark, arguments.path, arguments.table_format), records)
    gate = BatchGate(archiver.write)
    endpoint = None
    if arguments.metrics_port is not None:
        endpoint = serve(spark, arguments.metrics_port)
    try:
        run_to_end(_started(spark, arguments, records, gate), gate, ending)
    finally:
        if endpoint is not None:
            endpoint.stop()
    return _summary(arguments, archiver, records, ending.exit_code or DONE)


def _started(
    spark: SparkSession, arguments: ArchiveArguments, records: RecordFolder, gate: BatchGate
) -> StreamingQuery:
    options = dict(arguments.source.options)
    values = OptionValues(options)
    if not values.has(table.STARTING_OFFSETS):  # counts where there is no checkpoint yet
        topics = values.find(table.TOPIC)
        done = furthest(records.all(), () if topics is None else topics)
        options["startingOffsets"] = json.dumps(nested(done)) if done else "earliest"
    writer = (
        spark.readStream.format(FORMAT)
        .options(**options)
        .load()
        .writeStream.queryName("gantry-archive")
        .option("checkpointLocation", arguments.checkpoint)
        .foreachBatch(gate)
    )
    if arguments.every_s is None:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{arguments.every_s} seconds").start()


def _by_queue(rows: DataFrame) -> list[Row]:
    return (
        rows.groupBy("topic", "brokerName", "queueId")
        .agg(
            F.count(F.lit(1)).alias("rows"),
            F.sum(F.octet_length("body")).alias("bytes"),
            (F.max("queueOffset") + 1).alias("next"),
        )
        .collect()
    )


def _queue_count(row: Row) -> QueueCount:
    queue = QueueKey(row["topic"], row["brokerName"], row["queueId"])
    return QueueCount(queue, row["rows"], row["bytes"] or 0, row["next"])


def _summary(
    arguments: ArchiveArguments, archiver: Archiver, records: RecordFolder, exit_code: int
) -> Summary:
    record = archiver.record
    up_to = furthest(records.all() if record is None else [record], ())
    topics = sorted({queue.topic for queue in archiver.counts})
    facts: dict[str, Value] = {
        "archive": arguments.path,
        "rows": sum(rows for rows, _ in archiver.counts.values()),
        "bytes": sum(size for _, size in archiver.counts.values()),
    }
    by_topic = [(topic, *_of_topic(archiver, topic)) for topic in topics]
    return Summary(
        "archive",
        facts,
        (
            Table("topics", ("topic", "rows", "bytes"), by_topic),
            Table("archived up to", ("topic", "broker", "queue", "next"), _up_to_rows(up_to)),
        ),
        exit_code,
    )


def _of_topic(archiver: Archiver, topic: str) -> tuple[int, int]:
    counts = [count for queue, count in archiver.counts.items() if queue.topic == topic]
    return sum(rows for rows, _ in counts), sum(size for _, size in counts)


def _up_to_rows(up_to: dict[QueueKey, int]) -> list[tuple[str, str, int, int]]:
    return [(*queue, offset) for queue, offset in sorted(up_to.items())]


def _tell(line: str) -> None:
    sys.stderr.write(line + "\n")
