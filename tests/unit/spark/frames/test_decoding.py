"""Record batches have what the client's own decoder reads from the same bytes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.spark.columns import BINARY, COLUMNS, LONG, arrow_schema
from gantrymq.spark.frames import FrameError, decode
from gantrymq.wire import hosts
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.message import compression
from gantrymq.wire.message import properties as codec
from gantrymq.wire.message.record import Record, decode_all, encode
from gantrymq.wire.message.sys_flag import NEED_UNWRAP, TRANSACTION_COMMIT

V4 = hosts.parse("10.1.2.3:54321")
V6 = hosts.parse("[fe80::2]:10911")
QUEUE = MessageQueue("T", "broker-a", 3)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def stored(records: Sequence[Record]) -> bytes:
    return b"".join(map(encode, records))


def rows_of(buffer: bytes, schema: pa.Schema | None = None, **bounds: int) -> list[dict[str, Any]]:
    """Any: what Arrow makes of each type."""
    wanted = {"first_offset": 0, "end_offset": 1 << 40, **bounds}
    batch = decode(buffer, "broker-a", schema or arrow_schema(), **wanted)
    batch.validate(full=True)
    rows: list[dict[str, Any]] = batch.to_pylist(maps_as_pydicts="strict")
    return rows


def row_of(message: ReceivedMessage) -> dict[str, Any]:
    """A row as the client's message has it."""
    record, properties = message.record, message.properties
    return {
        "topic": record.topic.decode("utf-8", "replace"),
        "flag": message.flag,
        "body": message.body,
        "properties": properties,
        "brokerName": "broker-a",
        "queueId": record.queue_id,
        "queueOffset": message.offset,
        "bornTimestamp": EPOCH + timedelta(milliseconds=message.born_ms),
        "storeTimestamp": EPOCH + timedelta(milliseconds=message.stored_ms),
        "keys": properties.get("KEYS"),
        "tags": properties.get("TAGS"),
        "msgId": message.id,
        "uniqKey": properties.get("UNIQ_KEY"),
        "bornHost": message.born_host,
        "storeHost": message.store_host,
        "sysFlag": record.sys_flag,
        "reconsumeTimes": message.reconsume_times,
        "commitLogOffset": record.physical_offset,
    }


def compressed(record: Record, kind: compression.CompressionType | None) -> Record:
    if kind is not None:
        record.body = compression.compress(kind, record.body)
        record.sys_flag = compression.mark(record.sys_flag, kind)
    return record


values = st.text(st.characters(codec="utf-8", exclude_characters="\x01\x02"), min_size=1)
names = st.sampled_from(["KEYS", "TAGS", "UNIQ_KEY", "ключ", "a"])
stored_properties = st.dictionaries(names, values, max_size=5).map(codec.encode)
hosts_of_both_kinds = st.sampled_from([V4, V6])
int32s = st.integers(-(1 << 31), (1 << 31) - 1)
messages = st.builds(
    compressed,
    st.builds(
        Record,
        values.map(lambda text: text.encode()[:200]),
        st.binary(max_size=200),
        properties=stored_properties,
        queue_id=st.just(3),
        flag=int32s,
        physical_offset=st.integers(0, (1 << 62)),
        sys_flag=st.sampled_from([0, TRANSACTION_COMMIT]),
        born_timestamp_ms=st.integers(0, 1 << 41),
        born_host=hosts_of_both_kinds,
        store_timestamp_ms=st.integers(0, 1 << 41),
        store_host=hosts_of_both_kinds,
        reconsume_times=int32s,
    ),
    st.sampled_from([None, None, *compression.CompressionType]),
)


@given(st.lists(messages, max_size=6), st.integers(0, 1 << 40))
def test_rows_are_what_the_client_reads(records: list[Record], first: int) -> None:
    for number, record in enumerate(records):
        record.queue_offset = first + number
    buffer = stored(records)
    # Encoding sets the bits of the hosts, hence from the bytes.
    expected = [row_of(ReceivedMessage(each, QUEUE)) for each in decode_all(buffer)]
    assert rows_of(buffer, end_offset=1 << 41) == expected


def record(offset: int = 0, **fields: Any) -> Record:
    """Any: each field of a record has a type of its own."""
    given_fields = {"body": b"hi", "born_host": V4, "store_host": V4, **fields}
    return Record(b"T", queue_offset=offset, **given_fields)


def test_only_offsets_of_the_range_are_rows() -> None:
    buffer = stored([record(offset) for offset in range(7, 12)])
    rows = rows_of(buffer, arrow_schema(["queueOffset"]), first_offset=8, end_offset=11)
    assert [row["queueOffset"] for row in rows] == [8, 9, 10]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)
def test_each_column_comes_alone_with_the_type_asked_for(column: Any) -> None:
    schema = arrow_schema([column.name])
    batch = decode(stored([record()]), "b", schema, first_offset=0, end_offset=1)
    assert batch.schema.equals(schema)
    assert batch.num_rows == 1


def test_columns_come_in_the_order_of_the_schema_and_in_its_spelling() -> None:
    schema = pa.schema({"QUEUEOFFSET": LONG, "body": BINARY})
    assert rows_of(stored([record(5)]), schema) == [{"QUEUEOFFSET": 5, "body": b"hi"}]


def test_no_messages_are_an_empty_batch() -> None:
    batch = decode(b"", "b", arrow_schema(), first_offset=0, end_offset=1)
    assert batch.num_rows == 0
    assert batch.schema.equals(arrow_schema())


def test_views_of_bytes_are_taken_too() -> None:
    assert len(rows_of(memoryview(bytearray(stored([record()]))))) == 1  # type: ignore[arg-type]


def test_large_types_are_made_when_the_schema_has_them() -> None:
    kinds: dict[str, pa.DataType] = {"topic": pa.large_string(), "body": pa.large_binary()}
    schema = pa.schema(kinds)
    assert rows_of(stored([record()]), schema) == [{"topic": "T", "body": b"hi"}]


def test_properties_are_json_where_the_schema_has_a_text() -> None:
    schema = arrow_schema(["properties"], properties_as_json=True)
    (row,) = rows_of(stored([record(properties='a\x01ü\x02b\x01"\x02'.encode())]), schema)
    assert json.loads(row["properties"]) == {"a": "ü", "b": '"'}


def test_bytes_that_are_no_utf8_become_replacement_characters() -> None:
    broken = record(properties=b"KEYS\x01a\xffb\x02TAGS\x01t\x02")
    (row,) = rows_of(stored([broken]), arrow_schema(["keys", "tags", "properties"]))
    assert row["keys"] == "a\ufffdb"
    assert row["properties"] == {"KEYS": "a\ufffdb", "TAGS": "t"}


def test_texts_cut_within_a_character_do_not_borrow_from_their_neighbour() -> None:
    halves = [record(0, properties=b"KEYS\x01\xc3\x02"), record(1, properties=b"KEYS\x01\xbc\x02")]
    rows = rows_of(stored(halves), arrow_schema(["keys"]))
    assert [row["keys"] for row in rows] == ["\ufffd", "\ufffd"]


def test_host_with_a_port_that_cannot_be_is_null() -> None:
    odd = record(born_host=V4[:4] + (1 << 20).to_bytes(4))
    (row,) = rows_of(stored([odd]), arrow_schema(["bornHost", "storeHost"]))
    assert row == {"bornHost": None, "storeHost": "10.1.2.3:54321"}


def test_offset_id_stands_in_for_a_missing_unique_key() -> None:
    both = [record(0, physical_offset=7), record(1, properties=b"UNIQ_KEY\x01u\x02")]
    rows = rows_of(stored(both), arrow_schema(["msgId", "uniqKey"]))
    assert rows == [
        {"msgId": "0A0102030000D4310000000000000007", "uniqKey": None},
        {"msgId": "u", "uniqKey": "u"},
    ]


def test_damage_names_broker_range_and_message() -> None:
    buffer = bytearray(stored([record(6), record(7)]))
    buffer[-6] ^= 1  # in the last body
    with pytest.raises(FrameError, match=r"messages 6 to 9 .* broker broker-a .* message 7 .* CRC"):
        decode(bytes(buffer), "broker-a", arrow_schema(), first_offset=6, end_offset=9)


def test_body_that_cannot_be_decompressed_is_refused() -> None:
    broken = record(body=b"no zlib stream", sys_flag=0x301)
    with pytest.raises(FrameError, match=r"message 0: .*no zlib stream"):
        decode(stored([broken]), "b", arrow_schema(["body"]), first_offset=0, end_offset=1)


def test_batch_that_is_stored_as_one_record_is_refused() -> None:
    batch = record(sys_flag=NEED_UNWRAP)
    with pytest.raises(FrameError, match=r"queue\.type=BatchCQ"):
        decode(stored([batch]), "b", arrow_schema(["body"]), first_offset=0, end_offset=1)


def test_name_that_is_no_column_is_refused() -> None:
    with pytest.raises(KeyError, match="nothing is no column"):
        decode(b"", "b", pa.schema([("nothing", pa.int32())]), first_offset=0, end_offset=1)


def test_negative_commit_log_offset_of_a_message_without_an_id_is_refused() -> None:
    buffer = bytearray(stored([record(4)]))
    buffer[28] = 0x80  # the first byte of the commit log offset
    with pytest.raises(FrameError, match=r"message 4: its commit log offset is -"):
        decode(bytes(buffer), "b", arrow_schema(["msgId"]), first_offset=0, end_offset=9)


@given(st.lists(messages, min_size=1, max_size=4), st.data())
def test_damaged_bytes_make_a_frame_error_or_valid_rows(
    records: list[Record], data: st.DataObject
) -> None:
    for number, each in enumerate(records):
        each.queue_offset = number
    buffer = bytearray(stored(records))
    for _ in range(3):
        buffer[data.draw(st.integers(0, len(buffer) - 1))] = data.draw(st.integers(0, 255))
    try:
        batch = decode(bytes(buffer), "b", arrow_schema(), first_offset=0, end_offset=1 << 62)
    except FrameError:
        return
    batch.validate(full=True)
