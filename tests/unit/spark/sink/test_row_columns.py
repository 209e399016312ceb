"""The columns of a write: found by name, refused with what to do."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    BinaryType,
    IntegerType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from gantrymq.spark.options.errors import RocketMQOptionError
from gantrymq.spark.sink.row_columns import row_columns

BODY = StructField("body", BinaryType())


def schema(*fields: StructField) -> StructType:
    return StructType(list(fields))


def test_column_names_ignore_case() -> None:
    found = row_columns(schema(StructField("TAGS", StringType()), BODY), "T")
    assert found == {"tags": 0, "body": 1}


@pytest.mark.parametrize(
    ("fields", "topic", "text"),
    [
        ([], "T", "column body is missing"),
        ([BODY], None, "nothing says where to write"),
        ([BODY, StructField("topic", StringType())], "T", "exclude each other"),
        ([BODY, StructField("offset", IntegerType())], "T", "column offset cannot be written"),
        ([BODY, StructField("Body", BinaryType())], "T", "column body occurs twice"),
        ([BODY, StructField("tags", IntegerType())], "T", "make it string"),
        (
            [BODY, StructField("properties", MapType(StringType(), IntegerType()))],
            "T",
            "make it map<string,string>",
        ),
        ([BODY, StructField("brokerName", StringType())], "T", "needs the column queueId"),
    ],
)
def test_rows_that_cannot_be_written_are_refused(
    fields: list[StructField], topic: str | None, text: str
) -> None:
    with pytest.raises(RocketMQOptionError, match=text):
        row_columns(schema(*fields), topic)
