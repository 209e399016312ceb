"""The columns as Spark and as Arrow see them."""

from __future__ import annotations

import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from gantrymq.spark.columns import COLUMNS, arrow_schema, column_named, spark_schema


@pytest.mark.parametrize("is_json", [False, True])
def test_arrow_schema_is_the_one_that_spark_makes_of_ours(is_json: bool) -> None:
    spark = spark_schema(properties_as_json=is_json)
    expected = to_arrow_schema(spark, timezone="UTC")
    assert arrow_schema(properties_as_json=is_json).equals(expected)


def test_first_columns_are_those_of_the_older_connector() -> None:
    schema = spark_schema([column.name for column in COLUMNS[:9]], properties_as_json=True)
    assert schema.simpleString() == (
        "struct<topic:string,flag:int,body:binary,properties:string,brokerName:string,"
        "queueId:int,queueOffset:bigint,bornTimestamp:timestamp,storeTimestamp:timestamp>"
    )


def test_columns_come_in_the_order_asked_for() -> None:
    assert spark_schema(["body", "topic"]).names == ["body", "topic"]
    assert arrow_schema(["body", "topic"]).names == ["body", "topic"]


def test_names_are_found_in_any_case() -> None:
    column = column_named("QueueOFFSET")
    assert column is not None
    assert column.name == "queueOffset"
    assert column_named("offset") is None
