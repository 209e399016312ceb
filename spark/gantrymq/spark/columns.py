"""Lists the columns of the source `rocketmq`: name, type in Spark and in Arrow, and meaning.

The first nine have the names and types of the older rocketmq-spark connector, so that queries move
over as they are; there, `properties` was a JSON text, which `propertiesFormat=json` brings back.
Every column is nullable: Spark compares Arrow schemas with nullability, and asks for nullable ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark.sql.types import (
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

PROPERTIES: Final = "properties"

INT: Final[pa.DataType] = pa.int32()
LONG: Final[pa.DataType] = pa.int64()
STRING: Final[pa.DataType] = pa.string()
BINARY: Final[pa.DataType] = pa.binary()
TIMESTAMP: Final[pa.DataType] = pa.timestamp("us", tz="UTC")
STRING_MAP: Final[pa.DataType] = pa.map_(pa.string(), pa.string())

_SPARK_TYPES: Final[dict[pa.DataType, DataType]] = {
    INT: IntegerType(),
    LONG: LongType(),
    STRING: StringType(),
    BINARY: BinaryType(),
    TIMESTAMP: TimestampType(),
    STRING_MAP: MapType(StringType(), StringType(), valueContainsNull=True),
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the source."""

    name: str
    arrow_type: pa.DataType
    doc: str

    @property
    def spark_type(self) -> DataType:
        return _SPARK_TYPES[self.arrow_type]


COLUMNS: Final = (
    Column("topic", STRING, "The topic of the queue in which the message is stored."),
    Column("flag", INT, "The number that the producer set; RocketMQ gives it no meaning."),
    Column("body", BINARY, "The body as it was sent; compressed bodies are decompressed."),
    Column(PROPERTIES, STRING_MAP, "All properties, RocketMQ's own among them."),
    Column("brokerName", STRING, "The broker (the group of a master and its slaves) of the queue."),
    Column("queueId", INT, "The number of the queue on its broker."),
    Column("queueOffset", LONG, "The position in the queue; consecutive in each queue."),
    Column("bornTimestamp", TIMESTAMP, "When the producer made the message, by its clock."),
    Column("storeTimestamp", TIMESTAMP, "When the broker stored the message, by its clock."),
    Column("keys", STRING, "The keys, separated by blanks; null without."),
    Column("tags", STRING, "The tag; null without."),
    Column("msgId", STRING, "The id that a producer is told: uniqKey, else the offset id."),
    Column("uniqKey", STRING, "The unique id that the client gave the message; null without."),
    Column("bornHost", STRING, "The producer's address, ip:port."),
    Column("storeHost", STRING, "The address of the broker that stored the message, ip:port."),
    Column("sysFlag", INT, "RocketMQ's bits: compression, transaction state, IPv6 hosts."),
    Column("reconsumeTimes", INT, "How often consumers gave the message back."),
    Column("commitLogOffset", LONG, "The position in the broker's commit log."),
)

_BY_NAME: Final = {column.name: column for column in COLUMNS}


def column_named(name: str) -> Column | None:
    """Return the column of that name. Case does not matter, as in Spark."""
    wanted = name.casefold()
    return next((column for column in COLUMNS if column.name.casefold() == wanted), None)


def spark_schema(
    names: Iterable[str] | None = None, *, properties_as_json: bool = False
) -> StructType:
    """Return the schema of these columns, by default all. Raises KeyError for an unknown name."""
    fields = []
    for name in _names(names):
        is_json = properties_as_json and name == PROPERTIES
        kind = StringType() if is_json else _BY_NAME[name].spark_type
        fields.append(StructField(name, kind, nullable=True))
    return StructType(fields)


def arrow_schema(
    names: Iterable[str] | None = None, *, properties_as_json: bool = False
) -> pa.Schema:
    """Return the Arrow schema of these columns, as Spark expects the record batches."""
    fields = []
    for name in _names(names):
        is_json = properties_as_json and name == PROPERTIES
        fields.append(pa.field(name, STRING if is_json else _BY_NAME[name].arrow_type))
    return pa.schema(fields)


def _names(names: Iterable[str] | None) -> Iterable[str]:
    return [column.name for column in COLUMNS] if names is None else names
