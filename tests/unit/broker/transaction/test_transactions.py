"""What is stored for a transaction, beside what a Java broker stored and asked."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from gantrymq.broker.core.messages import File
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.tables.open_halves import origin_of
from gantrymq.broker.core.transaction.transactions import (
    check_of,
    checks_of,
    copy_of,
    final_of,
    half_of,
    is_prepared,
    numbers_of,
    op_of,
    place_of,
    rewrite,
)
from gantrymq.fakes.brokers.broker import START_MS, OpenedBroker
from gantrymq.fakes.brokers.transactions import COMMIT, Transactions, asked, prepared
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.message import properties, sys_flag
from gantrymq.wire.message.property_names import TRANSACTION_PREPARED_QUEUE_OFFSET
from gantrymq.wire.message.record import Record, decode

VECTORS = Path(__file__).resolve().parents[3] / "vectors"
JAVA_STORE = StoreSettings(
    mapped_file_size_commit_log=65_536,
    mapped_file_size_consume_queue=400,
    max_hash_slot_num=200,
    max_index_num=100,
)
JAVA_MS = 1_795_224_600_000  # shortly after the store was written

# Where Java's store has one transaction's half, its final message, another's half and its copy.
HALF, FINAL, UNKNOWN, COPY = 73_547, 74_289, 74_643, 76_194


def java_disk(name: str = "5.3.3-clean") -> tuple[MemoryDisk, dict[File, bytes]]:
    disk, files = MemoryDisk(), {}
    with tarfile.open(VECTORS / f"store-{name}.tar.gz") as archive:
        for member in archive.getmembers():
            extracted = archive.extractfile(member) if member.isfile() else None
            path = member.name.removeprefix("store/")
            if extracted is None:
                continue
            if path == f"config/{File.OFFSETS.value}":
                files[File.OFFSETS] = extracted.read()
            elif not path.startswith("config"):
                disk.make_folder(path.rpartition("/")[0])
                disk.create(path).write(0, [extracted.read()])
    return disk, files


@pytest.fixture(scope="module")
def java_log() -> bytes:
    disk, _ = java_disk()
    return b"".join(
        disk.open(f"commitlog/{entry.name}").read(0, entry.size) for entry in disk.list("commitlog")
    )


def named(record: Record) -> dict[str, str]:
    return properties.parse(record.properties)


# ---------------------------------------------------------------------- Java's records


def test_half_message_equals_that_of_java(java_log: bytes) -> None:
    stored = decode(java_log, HALF)
    sent = decode(java_log, HALF)
    sent.topic, sent.queue_id, sent.sys_flag = b"VecTopic", 3, sys_flag.TRANSACTION_PREPARED
    for name in ("__transactionId__", "REAL_TOPIC", "REAL_QID"):
        sent.properties = properties.delete(sent.properties, name)
    half = half_of(sent)
    assert (half.topic, half.queue_id, half.sys_flag) == (stored.topic, 0, stored.sys_flag)
    assert named(half) == named(stored)
    assert half.size == stored.size


def test_committed_message_equals_that_of_java(java_log: bytes) -> None:
    half, stored = decode(java_log, HALF), decode(java_log, FINAL)
    place = place_of(half)
    assert place is not None
    final = final_of(half, *place)
    final.queue_offset, final.physical_offset = stored.queue_offset, FINAL
    final.store_timestamp_ms = stored.store_timestamp_ms
    assert final == stored


def test_copy_of_a_half_message_equals_that_of_java_and_names_the_first_one(
    java_log: bytes,
) -> None:
    half, stored = decode(java_log, UNKNOWN), decode(java_log, COPY)
    copy = copy_of(half, checks_of(half) + 1)
    assert named(copy) == {**named(stored), TRANSACTION_PREPARED_QUEUE_OFFSET: "2"}
    assert (copy.topic, copy.body, copy.sys_flag) == (stored.topic, stored.body, stored.sys_flag)
    copy.queue_offset = stored.queue_offset
    assert (origin_of(copy), origin_of(stored), checks_of(copy)) == (2, 4, 1)


def test_a_producer_is_asked_as_java_asks(java_log: bytes) -> None:
    traffic: Any = json.loads((VECTORS / "traffic-5.3.3.json").read_text())  # Any: many shapes
    request = next(
        each["request"]
        for each in traffic
        if each["request"]["code"] == RequestCode.CHECK_TRANSACTION_STATE
    )
    command = check_of(OpenedBroker().state, decode(java_log, COPY))
    assert (command.code, command.flag) == (request["code"], request["flag"])
    assert command.ext == {**request["ext"], "bname": "broker-a"}
    theirs = decode(bytes.fromhex(request["frame"])[-request["bodyLen"] :])
    ours = decode(command.body)
    assert named(ours) == {**named(theirs), "WAIT": "true"}  # of no meaning to a producer
    ours.properties = theirs.properties
    ours.store_timestamp_ms = theirs.store_timestamp_ms  # ours is the copy's
    assert ours == theirs


def test_ops_of_both_releases_are_read_and_the_older_form_is_written() -> None:
    op = op_of(OpenedBroker().state, 17)
    assert (op.body, op.properties) == (b"17", b"TAGS\x01d\x02")
    for body, numbers in (
        (b"17", [17]),
        (b"1,0,", [1, 0]),
        (b"", []),
        (b",,x,-1,5", [5]),
        (b"9" * 20, []),
    ):
        op.body = body
        assert numbers_of(op) == numbers
    op.properties = b"TAGS\x01z\x02"
    assert not numbers_of(op)


# ---------------------------------------------------------------------- Java's store


def on_java_store(files: dict[File, bytes], disk: MemoryDisk) -> Transactions:
    broker = OpenedBroker(store_settings=JAVA_STORE, disk=disk, files=files)
    broker.now = (JAVA_MS - START_MS) / 1000
    broker.settle()
    return Transactions(broker)


def test_checks_continue_on_a_store_of_java() -> None:
    disk, files = java_disk()
    transactions = on_java_store(files, disk)
    # Java's vectors hold one open half, which has neither topic nor group.
    assert [half.queue_offset for half in transactions.halves()][-1] == 29
    assert transactions.broker.state.open_halves.first == 29
    transactions.broker.pass_time(31.0)
    assert transactions.broker.state.open_halves.first == 30
    assert transactions.ops() == [1, 0, 4, 29]
    assert transactions.given_up()[-1] == transactions.halves()[29].body


def test_without_its_offsets_javas_ops_still_count() -> None:
    disk, _ = java_disk()
    transactions = on_java_store({}, disk)
    producer = transactions.connect("VecTxProducer")
    transactions.broker.pass_time(31.0)
    shown = [decode(command.body).body for command in producer.told]
    assert b"tx unknown 2" in shown
    assert not {b"tx commit", b"tx rollback"} & set(shown)
    assert len(asked(producer)) == len(shown)


# ---------------------------------------------------------------------- sends


def test_only_transactional_messages_become_halves() -> None:
    broker = OpenedBroker()
    plain = prepared(broker, b"x")
    plain.sys_flag, plain.properties = 0, b"UNIQ_KEY\x01U\x02"
    assert rewrite(broker.state, plain) is plain
    half = rewrite(broker.state, prepared(broker, b"x"))
    assert isinstance(half, Record)
    assert broker.state.topics.find("RMQ_SYS_TRANS_HALF_TOPIC") is not None


@pytest.mark.parametrize(
    ("held", "flag", "reconsumed", "expected"),
    [
        ({"TRAN_MSG": "true"}, 0, 0, True),
        ({"TRAN_MSG": "TRUE"}, 0, 0, True),
        ({}, sys_flag.TRANSACTION_PREPARED, 0, True),
        ({"TRAN_MSG": "false"}, 0, 0, False),
        ({}, COMMIT, 0, False),
        ({"TRAN_MSG": "true", "DELAY": "3"}, 0, 1, False),  # sent back by an old consumer
        ({"TRAN_MSG": "true", "DELAY": "3"}, 0, 0, True),
        ({"TRAN_MSG": "true"}, 0, 1, True),
    ],
)
def test_the_property_decides(
    held: dict[str, str], flag: int, reconsumed: int, *, expected: bool
) -> None:
    message = prepared(OpenedBroker(), b"x")
    message.properties, message.sys_flag = properties.encode(held), flag
    message.reconsume_times = reconsumed
    assert is_prepared(message) is expected


def test_transactions_may_be_refused() -> None:
    broker = OpenedBroker(BrokerSettings(reject_transaction_message=True))
    refused = rewrite(broker.state, prepared(broker, b"x"))
    assert isinstance(refused, tuple)
    assert refused[0] == ResponseCode.NO_PERMISSION


def test_a_half_that_leaves_no_room_for_checks_is_refused() -> None:
    broker = OpenedBroker()
    for size, is_taken in ((32_000, True), (32_650, False)):
        taken = rewrite(broker.state, prepared(broker, b"x", filler="f" * size))
        assert isinstance(taken, Record) is is_taken


def test_producers_properties_about_copies_are_ignored() -> None:
    broker = OpenedBroker()
    message = prepared(broker, b"x", TRAN_PREPARED_QUEUE_OFFSET="1", TRANSACTION_CHECK_TIMES="15")
    half = half_of(message)
    half.queue_offset = 8
    assert (origin_of(half), checks_of(half)) == (8, 0)
