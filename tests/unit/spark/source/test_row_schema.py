"""Which columns a schema asks for, and which cannot be made."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from gantrymq.spark.columns import COLUMNS
from gantrymq.spark.options import RocketMQOptionError
from gantrymq.spark.source.row_schema import RowSchema, row_schema, schema_of_options


def test_all_columns_are_made_by_default() -> None:
    names = schema_of_options(None, properties_as_json=False).fieldNames()
    assert names == [column.name for column in COLUMNS]


def test_options_name_columns_in_their_order_and_any_case() -> None:
    schema = schema_of_options(("BODY", "queueid"), properties_as_json=False)
    assert schema.fieldNames() == ["body", "queueId"]


def test_properties_are_a_map_or_a_text() -> None:
    as_text = schema_of_options(("properties",), properties_as_json=True)
    assert as_text.fields[0].dataType == StringType()
    assert row_schema(as_text) == RowSchema(("properties",), properties_as_json=True)
    as_map = schema_of_options(("properties",), properties_as_json=False)
    assert not row_schema(as_map).properties_as_json


def test_a_schema_of_the_user_prunes_columns() -> None:
    schema = StructType([StructField("QUEUEOFFSET", LongType()), StructField("body", BinaryType())])
    assert row_schema(schema).names == ("queueOffset", "body")


@pytest.mark.parametrize(
    ("field", "text"),
    [
        (StructField("colour", StringType()), "names the column colour"),
        (StructField("queueOffset", IntegerType()), "is int, and the source makes it as bigint"),
        (StructField("body", BinaryType(), nullable=False), "leave NOT NULL out"),
    ],
)
def test_other_columns_are_refused(field: StructField, text: str) -> None:
    with pytest.raises(RocketMQOptionError, match=text):
        row_schema(StructType([field]))
