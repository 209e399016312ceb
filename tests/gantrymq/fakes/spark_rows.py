"""Makes DataFrames with the columns of the format `rocketmq`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pyspark.sql import DataFrame, SparkSession

from gantrymq.spark.columns import COLUMNS, spark_schema

MIDNIGHT = datetime(2026, 11, 28, tzinfo=UTC)

# A value of a column; missing columns are null.
Value = str | int | bytes | datetime | dict[str, str] | None
Message = dict[str, Value]


def at(seconds: float) -> datetime:
    """So many seconds after MIDNIGHT."""
    return MIDNIGHT + timedelta(seconds=seconds)


def message_rows(spark: SparkSession, *messages: Message) -> DataFrame:
    """One row for each message: topic `orders` of broker-a, offsets in order, stored at
    MIDNIGHT."""
    rows = []
    for offset, message in enumerate(messages):
        values: dict[str, Value] = {
            "topic": "orders",
            "brokerName": "broker-a",
            "queueId": 0,
            "queueOffset": offset,
            "body": b"body",
            "properties": {},
            "bornTimestamp": MIDNIGHT,
            "storeTimestamp": MIDNIGHT,
            "flag": 0,
            **message,
        }
        rows.append(tuple(values.get(column.name) for column in COLUMNS))
    return spark.createDataFrame(rows, spark_schema())
