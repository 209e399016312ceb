"""Reads messages for a job, from brokers or from an archive, with the columns of the source."""

from __future__ import annotations

from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark's documents

from gantrymq.spark.jobs.archiving.tables import open_table
from gantrymq.spark.jobs.arguments import ArchiveSource, Filters, LiveSource, Source

FORMAT: Final = "rocketmq"

# Separates the tags of an expression that brokers evaluate.
_OR: Final = "||"


def read(spark: SparkSession, source: Source, filters: Filters) -> DataFrame:
    """Read the messages that the filters select. Raises JobError if the archive does not exist."""
    if isinstance(source, LiveSource):
        options = dict(source.options)
        if filters.tags and "subExpression" not in options:
            options["subExpression"] = f" {_OR} ".join(filters.tags)
        rows = spark.read.format(FORMAT).options(**options).load()
    else:
        rows = _archived(spark, source)
    return filtered(rows, filters)


def filtered(rows: DataFrame, filters: Filters) -> DataFrame:
    """Select the rows with one of the tags and one of the keys for which `where` is true."""
    if filters.tags:
        rows = rows.where(F.col("tags").isin(*filters.tags))
    if filters.keys:
        keys = F.array(*map(F.lit, filters.keys))
        rows = rows.where(F.arrays_overlap(F.split("keys", " "), keys))
    if filters.where is not None:
        rows = rows.where(filters.where)
    return rows


def _archived(spark: SparkSession, source: ArchiveSource) -> DataFrame:
    """Read an archive. Folders select whole days, and storeTimestamp selects within a day."""
    conditions: list[Column] = []
    if source.topics:
        conditions.append(F.col("topic").isin(*source.topics))
    stored = F.col("storeTimestamp")
    if source.from_ms is not None:
        first = F.timestamp_millis(F.lit(source.from_ms))
        conditions += [F.col("day") >= F.to_date(first), stored >= first]
    if source.to_ms is not None:
        past = F.timestamp_millis(F.lit(source.to_ms))
        conditions += [F.col("day") <= F.to_date(past), stored < past]
    rows = open_table(spark, source.path, source.table_format)
    return reduce(DataFrame.where, conditions, rows)
