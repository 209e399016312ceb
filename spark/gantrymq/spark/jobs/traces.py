"""Runs the job `trace`, which finds latencies, losses, retries and slow consumers in traces."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark's documents

from gantrymq.spark.jobs import trace_records
from gantrymq.spark.jobs.archiving.rows import read
from gantrymq.spark.jobs.arguments import Filters, TraceArguments
from gantrymq.spark.jobs.summary import Summary, Table, Value

TOPICS = ("topic", "sent", "failed", "send_p50_ms", "send_p95_ms", "never_consumed")
GROUPS = (
    *("topic", "group", "deliveries", "retries", "failed", "unfinished"),
    *("consume_p50_ms", "consume_p95_ms", "end_to_end_p50_ms", "end_to_end_p95_ms"),
)
MISSED = ("topic", "message id", "producer group", "sent at")


def run(spark: SparkSession, arguments: TraceArguments, now_ms: int) -> Summary:
    """Analyse the traces in the trace topic within the given times."""
    records = trace_records.fields(read(spark, arguments.source, Filters())).cache()
    try:
        sends = trace_records.sends(records)
        if arguments.topics:
            sends = sends.where(F.col("topic").isin(*arguments.topics))
        deliveries = trace_records.deliveries(records)
        before_ms = now_ms - arguments.grace_s * 1000
        missed = never_consumed(sends, deliveries, before_ms)
        topics = _rows(by_topic(sends, missed))
        return Summary(
            "trace",
            {"sends": sum(int(row[1] or 0) + int(row[2] or 0) for row in topics)},
            [
                Table("topics", TOPICS, topics),
                Table("groups", GROUPS, _rows(by_group(sends, deliveries))),
                Table("never consumed", MISSED, _rows(_samples(missed, arguments.samples))),
            ],
        )
    finally:
        records.unpersist()


def never_consumed(sends: DataFrame, deliveries: DataFrame, before_ms: int) -> DataFrame:
    """Return the sends that brokers accepted before that time and no consumer's trace names."""
    taken = sends.where(F.col("sent") & (F.col("sentMs") < before_ms))
    return taken.join(deliveries.select("messageId"), "messageId", "left_anti")


def by_topic(sends: DataFrame, missed: DataFrame) -> DataFrame:
    costs = _percentiles("costMs")
    counts = sends.groupBy("topic").agg(
        F.count_if("sent").alias("sent"),
        F.count_if(~F.col("sent")).alias("failed"),
        costs[0].alias("send_p50_ms"),
        costs[1].alias("send_p95_ms"),
    )
    missing = missed.groupBy("topic").agg(F.count(F.lit(1)).alias("never_consumed"))
    joined = counts.join(missing, "topic", "left").fillna(0, ["never_consumed"])
    return joined.select(*TOPICS).orderBy("topic")


def by_group(sends: DataFrame, deliveries: DataFrame) -> DataFrame:
    """Return the slowest consumers first. The end-to-end time is from the send to the end of the
    listener."""
    ended_ms = F.col("startedMs") + F.col("consumeMs")
    rows = (
        deliveries.withColumnRenamed("costMs", "consumeMs")
        .join(sends.select("messageId", "topic", "sentMs"), "messageId")
        .withColumn("endToEndMs", F.when(F.col("success"), ended_ms - F.col("sentMs")))
    )
    consume, whole = _percentiles("consumeMs"), _percentiles("endToEndMs")
    return (
        rows.groupBy("topic", F.col("consumerGroup").alias("group"))
        .agg(
            F.count(F.lit(1)).alias("deliveries"),
            F.count_if(F.col("retryTimes") > 0).alias("retries"),
            F.count_if(~F.col("success")).alias("failed"),
            F.count_if(F.col("success").isNull()).alias("unfinished"),
            consume[0].alias("consume_p50_ms"),
            consume[1].alias("consume_p95_ms"),
            whole[0].alias("end_to_end_p50_ms"),
            whole[1].alias("end_to_end_p95_ms"),
        )
        .orderBy(F.desc("consume_p95_ms"), "topic", "group")
    )


def _samples(missed: DataFrame, most: int) -> DataFrame:
    sent_at = F.timestamp_millis("sentMs").cast("string")
    return (
        missed.orderBy("sentMs", "messageId")
        .limit(most)
        .select("topic", "messageId", "producerGroup", sent_at)
    )


def _percentiles(name: str) -> Column:
    return F.percentile_approx(name, [0.5, 0.95])


def _rows(table: DataFrame) -> list[tuple[Value, ...]]:
    return [tuple(row) for row in table.collect()]
