"""Runs the job `replay`, which sends messages of an archive or of brokers to a topic again."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark's documents

from gantrymq.spark.jobs.archiving.rows import read
from gantrymq.spark.jobs.arguments import ReplayArguments, Sending
from gantrymq.spark.jobs.sending import send, sendable
from gantrymq.spark.jobs.summary import Summary, Table, Value

COLUMNS = ("topic", "messages", "bytes", "first stored", "last stored")


def run(spark: SparkSession, arguments: ReplayArguments) -> Summary:
    """Replay the messages; only count them if `dry_run` is set."""
    rows = read(spark, arguments.source, arguments.filters)
    target = F.col("topic") if arguments.topic is None else F.lit(arguments.topic)
    return resent(rows, target, arguments.sending, dry_run=arguments.dry_run)


def resent(
    rows: DataFrame, target: Column, sending: Sending, *, dry_run: bool, job: str = "replay"
) -> Summary:
    """Count the messages, and send each to the topic that `target` evaluates to."""
    counted = [_told(row) for row in counts(rows)]
    if not dry_run and counted:
        send(sendable(rows, target, sending.replay_id), sending)
    facts: dict[str, Value] = {
        "replay id": sending.replay_id,
        "messages": sum(int(row[1] or 0) for row in counted),
        "sent": "no: a dry run" if dry_run else "yes",
    }
    return Summary(job, facts, [Table("from", COLUMNS, counted)])


def counts(rows: DataFrame) -> list[Row]:
    """Count the messages by topic."""
    return (
        rows.groupBy("topic")
        .agg(
            F.count(F.lit(1)).alias("messages"),
            F.sum(F.octet_length("body")).alias("bytes"),
            F.min("storeTimestamp").cast("string").alias("first"),
            F.max("storeTimestamp").cast("string").alias("last"),
        )
        .orderBy("topic")
        .collect()
    )


def _told(row: Row) -> tuple[str, int, int, str, str]:
    return row["topic"], row["messages"], row["bytes"] or 0, row["first"], row["last"]
