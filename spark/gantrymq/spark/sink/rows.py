"""Makes messages from the rows of a record batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, final

import pyarrow as pa

from gantrymq.client.bulk.outgoing import OutgoingMessage
from gantrymq.wire.message import property_names

# The system properties that the map of properties may set; the sink or brokers set all others.
_SETTABLE: Final = frozenset(
    {property_names.TAGS, property_names.KEYS, property_names.SHARDING_KEY}
)
_LEFT_OUT: Final = (
    property_names.RESERVED | {property_names.PRODUCER_SESSION, property_names.UNIQ_KEY}
) - _SETTABLE

KEY_SEPARATOR: Final = " "


@final
@dataclass(slots=True)
class Row:
    """A message, and the values that choose its topic and queue."""

    message: OutgoingMessage
    topic: str | None
    sharding_key: str | None
    queue_id: int | None
    broker_name: str | None


def rows_of(batch: pa.RecordBatch, places: Mapping[str, int]) -> Iterator[Row]:
    """Yield the rows of a batch in order."""
    columns = {name: _values(batch.column(place)) for name, place in places.items()}
    for number in range(batch.num_rows):
        yield _row({name: values[number] for name, values in columns.items()})


# Any: the values of a column, as its type says; row_columns.py has checked those.
def _values(column: Any) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("ms", column.type.tz), safe=False).cast(pa.int64())
    values: list[Any] = column.to_pylist()
    return values


def _row(values: Mapping[str, Any]) -> Row:
    body = values["body"]
    if isinstance(body, str):
        body = body.encode()
    sharding_key = values.get("shardingKey")
    message = OutgoingMessage(body or b"", _properties(values), values.get("flag") or 0)
    return Row(
        message,
        values.get("topic"),
        sharding_key,
        values.get("queueId"),
        values.get("brokerName"),
    )


def _properties(values: Mapping[str, Any]) -> dict[str, str]:
    """Merge properties. Columns override entries of the map; null and empty values are ignored."""
    given = values.get("properties") or ()
    properties = {name: value for name, value in dict(given).items() if name not in _LEFT_OUT}
    keys = values.get("keys")
    if isinstance(keys, list):
        keys = KEY_SEPARATOR.join(key for key in keys if key)
    said = {
        property_names.TAGS: values.get("tags"),
        property_names.KEYS: keys,
        property_names.SHARDING_KEY: values.get("shardingKey"),
        property_names.DELAY: values.get("delayLevel"),
        property_names.TIMER_DELIVER_MS: values.get("deliverTime"),
    }
    properties.update({name: str(value) for name, value in said.items() if value})
    return {name: value for name, value in properties.items() if value}
