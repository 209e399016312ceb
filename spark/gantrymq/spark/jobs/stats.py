"""Runs the job `stats`, which counts messages, bytes and delays by topic, tag and time."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark's documents

from gantrymq.spark.jobs.archiving.rows import read
from gantrymq.spark.jobs.arguments import StatsArguments
from gantrymq.spark.jobs.summary import Summary, Table, Value

# The most rows that the screen shows; JSON and --output have more.
ROWS_MAX: Final = 10_000

_COUNTS: Final = ("messages", "bytes", "size_p50", "size_p95", "delay_p50_ms", "delay_p95_ms")


def run(spark: SparkSession, arguments: StatsArguments) -> Summary:
    """Compute the statistics. With `output` the whole table is written there."""
    rows = read(spark, arguments.source, arguments.filters).select(
        "topic",
        "tags",
        "keys",
        "bornHost",
        "bornTimestamp",
        "storeTimestamp",
        F.octet_length("body").alias("size"),
    )
    table = by_time(rows, arguments.bucket)
    facts: dict[str, Value] = {}
    if arguments.output is not None:
        table.write.format(arguments.output_format).mode("overwrite").save(arguments.output)
        facts["written to"] = arguments.output
        table = (
            spark.read.format(arguments.output_format).schema(table.schema).load(arguments.output)
        )
    totals = _rows(by_topic(rows))
    facts["messages"] = sum(int(row[1] or 0) for row in totals)
    facts["bytes"] = sum(int(row[2] or 0) for row in totals)
    latest = _rows(
        table.withColumn("time", F.col("time").cast("string"))
        .orderBy(F.desc("time"), "topic", "tag")
        .limit(ROWS_MAX)
    )
    return Summary(
        "stats",
        facts,
        [
            Table("topics", ("topic", *_COUNTS), totals),
            Table(f"by {arguments.bucket}", ("time", "topic", "tag", *_COUNTS), latest),
            Table("top keys", ("topic", "key", "messages"), _rows(top_keys(rows, arguments.top))),
            Table(
                "top producers",
                ("topic", "producer", "messages"),
                _rows(top_producers(rows, arguments.top)),
            ),
        ],
    )


def by_time(rows: DataFrame, bucket: str) -> DataFrame:
    """One row for each bucket of time, topic and tag."""
    time = F.date_trunc(bucket, "storeTimestamp").alias("time")
    return _counted(rows, time, F.col("topic"), F.col("tags").alias("tag"))


def by_topic(rows: DataFrame) -> DataFrame:
    return _counted(rows, F.col("topic")).orderBy("topic")


def top_keys(rows: DataFrame, most: int) -> DataFrame:
    """Return the most frequent keys. A message with several keys counts for each."""
    keys = rows.select("topic", F.explode(F.split("keys", " ")).alias("key"))
    return _top(keys.where("key <> ''"), "key", most)


def top_producers(rows: DataFrame, most: int) -> DataFrame:
    """Return the most frequent producers by address, without the port, which differs between
    connections."""
    address = F.regexp_extract("bornHost", r"^\[?(.*?)\]?:\d+$", 1)
    known = rows.where(F.col("bornHost").isNotNull())
    return _top(known.select("topic", address.alias("producer")), "producer", most)


def _counted(rows: DataFrame, *by: Column) -> DataFrame:
    delay_ms = F.unix_millis("storeTimestamp") - F.unix_millis("bornTimestamp")
    sizes = F.percentile_approx("size", [0.5, 0.95])
    delays = F.percentile_approx("delay", [0.5, 0.95])
    return (
        rows.withColumn("delay", delay_ms)
        .groupBy(*by)
        .agg(
            F.count(F.lit(1)).alias("messages"),
            F.sum("size").alias("bytes"),
            sizes[0].alias("size_p50"),
            sizes[1].alias("size_p95"),
            delays[0].alias("delay_p50_ms"),
            delays[1].alias("delay_p95_ms"),
        )
    )


def _top(rows: DataFrame, name: str, most: int) -> DataFrame:
    """Return the most frequent values of all topics together."""
    return (
        rows.groupBy("topic", name)
        .agg(F.count(F.lit(1)).alias("messages"))
        .orderBy(F.desc("messages"), "topic", name)
        .limit(most)
    )


def _rows(table: DataFrame) -> list[tuple[Value, ...]]:
    return [tuple(row) for row in table.collect()]
