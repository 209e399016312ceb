"""Messages that wait: back as Java brings them back, whatever happened to their neighbours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gantrymq.broker.core.schedule.message_restore import (
    BYTES_MAX,
    COUNT_MAX,
    messages_of,
    redirect,
    restore,
    run_of,
)
from gantrymq.fakes.stores.store import OpenedStore
from gantrymq.store.read.async_reader import run
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.message import properties
from gantrymq.wire.message.record import Record

VECTORS = Path(__file__).resolve().parents[3] / "vectors"
HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
ROOMY = StoreSettings(mapped_file_size_commit_log=1 << 24, mapped_file_size_consume_queue=20_000)


def message(body: bytes = b"x", **named: str) -> Record:
    return Record(
        b"T", body, properties=properties.encode(named), queue_id=1, born_host=HOST, store_host=HOST
    )


def record_of(listed: dict[str, Any]) -> Record:
    return Record(
        listed["topic"].encode(),
        bytes.fromhex(listed["bodyHex"]),
        properties=properties.encode(listed["properties"]),
        queue_id=listed["queueId"],
        flag=listed["flag"],
        sys_flag=listed["sysFlag"],
        born_timestamp_ms=listed["bornTimestamp"],
        born_host=HOST,
        store_host=HOST,
        reconsume_times=listed["reconsumeTimes"],
        prepared_transaction_offset=listed["preparedTransactionOffset"],
    )


@pytest.mark.parametrize("version", ["4.9.8", "5.3.3"])
def test_restored_message_equals_that_of_java(version: str) -> None:
    log = json.loads((VECTORS / f"store-{version}-clean.contents.json").read_text())["commitlog"]
    waited = [one for one in log if one["topic"] == "SCHEDULE_TOPIC_XXXX"]
    compared = 0
    for one in waited:
        back = restore(record_of(one))
        assert back is not None
        for other in log:
            is_later = other["topic"] != "<BLANK>" and other["offset"] > one["offset"]
            if is_later and (other["topic"], other["queueId"], other["bodyHex"]) == (
                back.topic.decode(),
                back.queue_id,
                back.body.hex(),
            ):
                java = record_of(other)
                assert properties.parse(back.properties) == properties.parse(java.properties)
                back.properties = java.properties  # their order is that of a hash table
                assert back == java
                compared += 1
    assert compared >= 1


def test_there_and_back_it_is_the_same_but_for_where_it_was() -> None:
    original = message(b"body", TAGS="A", REAL_TOPIC="forged")
    back = restore(redirect(message(b"body", TAGS="A", REAL_TOPIC="forged"), b"W", 0))
    assert back is not None
    assert (back.topic, back.queue_id, back.body) == (b"T", 1, original.body)
    assert properties.parse(back.properties) == {"TAGS": "A", "REAL_TOPIC": "T", "REAL_QID": "1"}


@pytest.mark.parametrize(
    "named",
    [
        {},
        {"REAL_TOPIC": "T"},
        {"REAL_TOPIC": "T", "REAL_QID": "x"},
        {"REAL_TOPIC": "T", "REAL_QID": "-1"},
        {"REAL_TOPIC": "T", "REAL_QID": "2147483648"},
        {"REAL_TOPIC": "T", "REAL_QID": "1" * 5000},
        {"REAL_TOPIC": "RMQ_SYS_TRANS_HALF_TOPIC", "REAL_QID": "0"},
    ],
)
def test_one_that_says_no_queue_does_not_come_back(named: dict[str, str]) -> None:
    record = message()
    record.properties = properties.encode(named)
    assert restore(record) is None


def filled(count: int, size: int = 10, settings: StoreSettings = ROOMY) -> OpenedStore:
    opened = OpenedStore(MemoryDisk(), settings)
    for number in range(count):
        assert isinstance(opened.store.put(message(b"%d" % number + bytes(size))), int)
        opened.store.put(Record(b"Other", b"y" * 50, born_host=HOST, store_host=HOST))
    opened.turn()
    opened.settle()
    return opened


def test_full_run_ends_and_the_next_one_continues() -> None:
    opened = filled(COUNT_MAX + 5)
    first = run(run_of(opened.store, "T", 1, 0))
    assert (first.first, first.end, first.is_end) == (0, COUNT_MAX, False)
    second = run(run_of(opened.store, "T", 1, first.end))
    assert (second.end, second.is_end) == (COUNT_MAX + 5, True)
    assert run(run_of(opened.store, "T", 1, second.end)).is_end


def test_a_run_is_bounded_in_bytes_but_never_empty() -> None:
    opened = filled(3, BYTES_MAX)
    assert run(run_of(opened.store, "T", 1, 0)).end == 1
    assert len(run(messages_of(opened.store, "T", 1, [0, 1, 2]))) == 1


def test_an_offset_outside_the_queue_becomes_its_end() -> None:
    opened = filled(3)
    assert run(run_of(opened.store, "T", 1, 99)).first == 3
    assert run(run_of(opened.store, "none", 1, 7)).first == 7


def test_damaged_or_missing_messages_are_none_and_the_rest_is_read() -> None:
    opened = filled(3, settings=ROOMY)
    queue = opened.store.queues.find("T", 1)
    assert queue is not None
    position, _, _ = queue.unit(1)
    path = opened.store.log.segments.path_of(position)
    opened.close()
    opened.disk.open(path).write(position + 90, [b"\xff" * 5])
    disk = opened.disk
    assert isinstance(disk, MemoryDisk)
    again = OpenedStore(disk, ROOMY)
    found = run(messages_of(again.store, "T", 1, [0, 1, 2, 3]))
    assert [record and record.queue_offset for record in found] == [0, None, 2, None]
    assert run(messages_of(again.store, "none", 1, [4])) == [None]
