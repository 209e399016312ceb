"""Parses message traces: bodies of RMQ_SYS_TRACE_TOPIC into sends and deliveries.

A body holds records, each closed by \\x02, of fields between \\x01s; the first names its kind:

    Pub        time region group topic msgId tags keys storeHost bodyLength costMs msgType … success
    SubBefore  time region group requestId msgId retryTimes keys
    SubAfter   requestId msgId costMs success keys contextCode [time group]

Times are milliseconds. A batch is one send with several message ids, separated by commas.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark's documents

_FIELD: Final = "\x01"
_RECORD: Final = "\x02"
# The fields of a send from the start; what follows differs between versions.
_PUB_FIELDS: Final = 12


def fields(bodies: DataFrame) -> DataFrame:
    """Return one row for each record, with the array `f` of its fields."""
    text = F.make_valid_utf8(F.col("body").cast("string"))
    records = bodies.select(F.explode(F.split(text, _RECORD)).alias("record"))
    # A record may follow a line end, as Java's clients join them.
    return records.select(F.split(F.ltrim("record", F.lit("\r\n ")), _FIELD).alias("f")).where(
        F.size("f") > 1
    )


def sends(records: DataFrame) -> DataFrame:
    """Return the sends with messageId, topic, producerGroup, sentMs, costMs, and sent, which says
    whether the broker accepted the message."""
    pubs = _of_kind(records, "Pub").where(F.size("f") >= _PUB_FIELDS)
    # The success is the last field, before the client's address that newer clients append.
    success = F.array_contains(F.slice("f", _PUB_FIELDS + 1, 4), "true")
    return pubs.select(
        F.explode(F.split(_field(5), ",")).alias("messageId"),
        _field(4).alias("topic"),
        _field(3).alias("producerGroup"),
        _number(1).alias("sentMs"),
        _number(10).alias("costMs"),
        success.alias("sent"),
    )


def deliveries(records: DataFrame) -> DataFrame:
    """Return the deliveries with messageId, consumerGroup, startedMs, retryTimes, costMs and
    success; the last two are null before the end."""
    before = _of_kind(records, "SubBefore").select(
        _field(4).alias("requestId"),
        _field(5).alias("messageId"),
        _field(3).alias("consumerGroup"),
        _number(1).alias("startedMs"),
        F.coalesce(_number(6), F.lit(0)).alias("retryTimes"),
    )
    after = _of_kind(records, "SubAfter").select(
        _field(1).alias("requestId"),
        _field(2).alias("messageId"),
        _number(3).alias("costMs"),
        (_field(4) == "true").alias("success"),
    )
    return before.join(after, ["requestId", "messageId"], "left").drop("requestId")


def _of_kind(records: DataFrame, kind: str) -> DataFrame:
    return records.where(F.col("f")[0] == kind)


def _field(index: int) -> Column:
    return F.get("f", F.lit(index))


def _number(index: int) -> Column:
    return F.expr(f"try_cast(get(f, {index}) AS bigint)")
