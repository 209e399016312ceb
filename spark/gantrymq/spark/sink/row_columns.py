"""Defines the columns that a write accepts, and finds them in a DataFrame.

| column | types | meaning |
|---|---|---|
| body | binary, string | what the message holds; it must not be null or empty |
| topic | string | where the option `topic` is not given |
| tags | string | |
| keys | string, array of strings | |
| properties | map of strings | names of RocketMQ's own are left out |
| shardingKey | string | messages of a key go to one queue, in their order |
| queueId | int | the queue, on the broker `brokerName` or the first one that has it |
| brokerName | string | see queueId |
| delayLevel | int | holds the message back by a level of the broker |
| deliverTime | timestamp, long (ms) | holds the message back until then |
| flag | int | |

Names are compared without regard to case, as Spark does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    ByteType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampType,
)

from gantrymq.spark.options.errors import RocketMQOptionError

_TEXT: Final = (StringType,)
_INTEGER: Final = (ByteType, ShortType, IntegerType, LongType)

_TYPES: Final[Mapping[str, tuple[type[DataType], ...]]] = {
    "body": (BinaryType, StringType),
    "topic": _TEXT,
    "tags": _TEXT,
    "keys": (StringType, ArrayType),
    "properties": (MapType,),
    "shardingKey": _TEXT,
    "queueId": _INTEGER,
    "brokerName": _TEXT,
    "delayLevel": _INTEGER,
    "deliverTime": (TimestampType, LongType),
    "flag": _INTEGER,
}
_BY_NAME: Final = {name.lower(): name for name in _TYPES}


def row_columns(schema: StructType, topic: str | None) -> dict[str, int]:
    """Return the position of each column. Raises RocketMQOptionError if rows cannot be written."""
    places: dict[str, int] = {}
    for place, field in enumerate(schema.fields):
        name = _BY_NAME.get(field.name.lower())
        if name is None:
            raise RocketMQOptionError(
                f"column {field.name} cannot be written: a write takes the columns"
                f" {', '.join(_TYPES)}; rename or drop it"
            )
        if name in places:
            raise RocketMQOptionError(f"column {name} occurs twice; drop one of them")
        if not isinstance(field.dataType, _TYPES[name]) or _is_of_others(field.dataType):
            raise RocketMQOptionError(
                f"column {name} is {field.dataType.simpleString()}, which cannot be written: make"
                f" it {_allowed(name)}"
            )
        places[name] = place
    _check(places, topic)
    return places


def _check(places: Mapping[str, int], topic: str | None) -> None:
    if "body" not in places:
        raise RocketMQOptionError(
            "column body is missing: select what each message holds, as binary or string, AS body"
        )
    if topic is None and "topic" not in places:
        raise RocketMQOptionError(
            "nothing says where to write: give the option topic, or a column topic"
        )
    if topic is not None and "topic" in places:
        raise RocketMQOptionError(
            f"option topic={topic!r} and a column topic exclude each other; drop one of them"
        )
    if "brokerName" in places and "queueId" not in places:
        raise RocketMQOptionError("column brokerName needs the column queueId; add it, or drop it")


def _is_of_others(kind: DataType) -> bool:
    """Whether it is an array or a map of other types than strings."""
    if isinstance(kind, ArrayType):
        return not isinstance(kind.elementType, StringType)
    if isinstance(kind, MapType):
        return not (isinstance(kind.keyType, StringType) and isinstance(kind.valueType, StringType))
    return False


def _allowed(name: str) -> str:
    texts = {ArrayType: "array<string>", MapType: "map<string,string>"}
    return " or ".join(texts.get(kind) or kind().simpleString() for kind in _TYPES[name])
