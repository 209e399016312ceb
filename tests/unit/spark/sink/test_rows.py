"""Messages made of the rows of a record batch."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from gantrymq.spark.sink.rows import Row, rows_of


def rows(**columns: pa.Array[Any]) -> list[Row]:  # Any: each column has a type of its own
    batch = pa.record_batch(list(columns.values()), names=list(columns))
    return list(rows_of(batch, {name: place for place, name in enumerate(columns)}))


def test_columns_become_fields_of_the_message() -> None:
    due = datetime(2026, 11, 28, 12, 0, 0, 5000, UTC)
    (row,) = rows(
        body=pa.array([b"x"]),
        tags=pa.array(["paid"]),
        keys=pa.array([["k1", None, "k2"]]),
        shardingKey=pa.array(["c"]),
        delayLevel=pa.array([3], pa.int32()),
        deliverTime=pa.array([due], pa.timestamp("us", "UTC")),
        flag=pa.array([7], pa.int32()),
    )
    assert row.message.body == b"x"
    assert row.message.flag == 7
    assert row.message.properties == {
        "TAGS": "paid",
        "KEYS": "k1 k2",
        "__SHARDINGKEY": "c",
        "DELAY": "3",
        "TIMER_DELIVER_MS": str(int(due.timestamp() * 1000)),
    }
    assert row.sharding_key == "c"


def test_null_columns_set_no_property() -> None:
    nothing = pa.array([None], pa.string())
    (row,) = rows(
        body=pa.array(["ä"]),
        tags=nothing,
        keys=nothing,
        shardingKey=nothing,
        queueId=pa.array([None], pa.int32()),
        properties=pa.array([None], pa.map_(pa.string(), pa.string())),
    )
    assert row.message.body == "ä".encode()
    assert row.message.properties == {}
    assert row.queue_id is None


def test_properties_are_taken_from_the_map_except_those_of_brokers() -> None:
    entries = [("a", "b"), ("KEYS", "k"), ("UNIQ_KEY", "u"), ("GANTRY_SESSION", "s"), ("c", "")]
    (row,) = rows(
        body=pa.array([b"x"]),
        properties=pa.array([entries], pa.map_(pa.string(), pa.string())),
    )
    assert row.message.properties == {"a": "b", "KEYS": "k"}


def test_a_null_body_becomes_empty_and_the_sender_refuses_it() -> None:
    (row,) = rows(body=pa.array([None], pa.binary()))
    assert row.message.body == b""
