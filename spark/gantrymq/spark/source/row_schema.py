"""Decides which columns of the source make the rows that Spark requests.

Spark passes either the source's own schema or the user's, in any order and case. Spark does not
prune columns of Python sources: columns that the user's schema lacks are never decoded.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.types import StringType, StructType

from gantrymq.spark.columns import COLUMNS, PROPERTIES, column_named, spark_schema
from gantrymq.spark.options.errors import RocketMQOptionError


@dataclass(frozen=True, slots=True)
class RowSchema:
    """The names of the source's columns, in the order of the rows."""

    names: tuple[str, ...]
    properties_as_json: bool


def schema_of_options(names: tuple[str, ...] | None, *, properties_as_json: bool) -> StructType:
    """Return the schema of a read without a user's schema. Raises RocketMQOptionError."""
    if names is not None:
        names = tuple(_known(name, "option columns") for name in names)
    return spark_schema(names, properties_as_json=properties_as_json)


def row_schema(schema: StructType) -> RowSchema:
    """Return the columns of a schema. Raises RocketMQOptionError on an unsupported schema."""
    names = tuple(_known(field.name, "the schema") for field in schema.fields)
    as_json = any(
        name == PROPERTIES and field.dataType == StringType()
        for name, field in zip(names, schema.fields, strict=True)
    )
    made = spark_schema(names, properties_as_json=as_json)
    for asked, made_field in zip(schema.fields, made.fields, strict=True):
        if asked.dataType != made_field.dataType:
            raise RocketMQOptionError(
                f"column {asked.name} of the schema is {asked.dataType.simpleString()}, and the"
                f" source makes it as {made_field.dataType.simpleString()}: read it so, and cast it"
            )
        if not asked.nullable:
            raise RocketMQOptionError(
                f"column {asked.name} of the schema is NOT NULL, and every column of the source is"
                " nullable: leave NOT NULL out"
            )
    return RowSchema(names, as_json)


def _known(name: str, where: str) -> str:
    column = column_named(name)
    if column is None:
        known = ", ".join(each.name for each in COLUMNS)
        raise RocketMQOptionError(
            f"{where} names the column {name}, which is none of the source's: there are {known}"
        )
    return column.name
