"""Runs the job `dlq`, which shows dead letters and retries by group, and sends dead letters again.

%DLQ%group      messages that the group's consumers gave back too often
%RETRY%group    messages that wait to be consumed again, or have been
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark's documents

from gantrymq.client.blocking import Admin
from gantrymq.spark.jobs.archiving.rows import filtered, read
from gantrymq.spark.jobs.arguments import Connection, DeadLetterArguments, Filters, LiveSource
from gantrymq.spark.jobs.replay import resent
from gantrymq.spark.jobs.summary import Summary, Table
from gantrymq.spark.options.connection import connection_options
from gantrymq.spark.options.values import OptionValues
from gantrymq.spark.source.client_keywords import client_keywords
from gantrymq.wire.message import property_names

BODY_SHOWN: Final = 40  # characters of a sample
GROUPS: Final = ("kind", "group", "origin", "reconsumed", "messages", "first", "last")
SAMPLES: Final = ("kind", "group", "origin", "stored", "message id", "keys", "body")

# Properties with the name of the first topic. Dead letters of RocketMQ 5 have both.
_ORIGINS: Final = (property_names.DLQ_ORIGIN_TOPIC, property_names.RETRY_TOPIC)


def run(spark: SparkSession, arguments: DeadLetterArguments) -> Summary:
    """Show dead letters and retries of these groups; of all groups if there are none."""
    topics = wanted(_topic_names(arguments.connection), arguments.groups, arguments.kinds)
    if not topics:
        return Summary("dlq", {"topics": 0, "messages": 0})
    options = {**arguments.read_options, "topic": ",".join(topics)}
    rows = filtered(with_origin(read(spark, LiveSource(options), Filters())), arguments.filters)
    if arguments.resend is not None:
        known = rows.where("origin IS NOT NULL")
        return resent(
            known, F.col("origin"), arguments.resend, dry_run=arguments.dry_run, job="dlq"
        )
    grouped = [tuple(row) for row in by_group(rows).collect()]
    samples = [tuple(row) for row in latest(rows, arguments.samples).collect()]
    return Summary(
        "dlq",
        {"topics": len(topics), "messages": sum(row[4] for row in grouped)},
        [Table("groups", GROUPS, grouped), Table("samples", SAMPLES, samples)],
    )


def wanted(names: Iterable[str], groups: Iterable[str], kinds: Iterable[str]) -> list[str]:
    """Return the existing topics of these groups and kinds."""
    prefixes = tuple(f"%{kind}%" for kind in kinds)
    of_kind = [name for name in names if name.startswith(prefixes)]
    chosen = set(groups)
    return sorted(name for name in of_kind if not chosen or name.split("%", 2)[2] in chosen)


def with_origin(rows: DataFrame) -> DataFrame:
    """Add the columns kind, group and origin, which is the topic that the message was sent to."""
    form = r"^%(DLQ|RETRY)%(.*)$"
    origin = F.coalesce(*(F.col("properties")[name] for name in _ORIGINS))
    return rows.withColumns(
        {
            "kind": F.regexp_extract("topic", form, 1),
            "group": F.regexp_extract("topic", form, 2),
            "origin": origin,
        }
    )


def by_group(rows: DataFrame) -> DataFrame:
    """Count messages by group and origin, with the times of the first and the last."""
    return (
        rows.groupBy("kind", "group", "origin", F.col("reconsumeTimes").alias("reconsumed"))
        .agg(
            F.count(F.lit(1)).alias("messages"),
            F.min("storeTimestamp").cast("string").alias("first"),
            F.max("storeTimestamp").cast("string").alias("last"),
        )
        .orderBy("kind", "group", "origin", "reconsumed")
    )


def latest(rows: DataFrame, most: int) -> DataFrame:
    """Return the last messages of each group and origin."""
    newest = Window.partitionBy("kind", "group", "origin").orderBy(
        F.desc("storeTimestamp"), "brokerName", "queueId", F.desc("queueOffset")
    )
    body = F.substring(F.make_valid_utf8(F.col("body").cast("string")), 1, BODY_SHOWN)
    stored = F.col("storeTimestamp").cast("string")
    return (
        rows.withColumn("place", F.row_number().over(newest))
        .where(F.col("place") <= most)
        .orderBy("kind", "group", "origin", "place")
        .select("kind", "group", "origin", stored, "msgId", "keys", body)
    )


def _topic_names(connection: Connection) -> tuple[str, ...]:
    options = connection_options(OptionValues(connection.options), os.environ)
    with Admin(timeout_s=options.timeout_s, **client_keywords(options)) as admin:
        return admin.topics.names()
