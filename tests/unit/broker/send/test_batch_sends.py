"""Batches: stored together, answered together, and refused whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from gantrymq.fakes.brokers.broker import STORE_SETTINGS, OpenedBroker
from gantrymq.fakes.brokers.sends import UNIQUE, add_topic, message
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.message import batch, offset_id, properties
from gantrymq.wire.message.batch import BatchPart

HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
BATCH = RequestCode.SEND_BATCH_MESSAGE


def part(body: bytes, **said: str) -> BatchPart:
    return BatchPart(body, flag=3, properties=properties.encode({"KEYS": "k", **said}))


def asked(
    broker: OpenedBroker,
    parts: Sequence[BatchPart],
    code: RequestCode = BATCH,
    *,
    topic: str = "T",
    sys_flag: int = 0,
    said: dict[str, str] | None = None,
) -> Command:
    header = message(topic, batch=True, queue_id=1, sys_flag=sys_flag, properties=said)
    return broker.ask(code, header, batch.encode(parts))


@pytest.mark.parametrize("code", [BATCH, RequestCode.SEND_MESSAGE_V2])
def test_a_batch_is_stored_as_its_messages(code: RequestCode) -> None:
    broker = OpenedBroker()
    add_topic(broker)
    answer = asked(broker, [part(b"0", WAIT="true"), part(b"1")], code)
    records = broker.opened.records("T", 1)
    assert [record.body for record in records] == [b"0", b"1"]
    assert [record.flag for record in records] == [3, 3]
    assert records[0].properties == (
        b"KEYS\x01k\x02WAIT\x01true\x02UNIQ_KEY\x01"
        + UNIQUE.encode()
        + b"\x02MSG_REGION\x01DefaultRegion\x02TRACE_ON\x01true\x02CLUSTER\x01DefaultCluster\x02"
    )
    assert answer.code == ResponseCode.SUCCESS
    assert answer.ext == {
        "msgId": ",".join(offset_id.encode(HOST, record.physical_offset) for record in records),
        "queueId": "1",
        "queueOffset": "0",
        "transactionId": UNIQUE,
        "MSG_REGION": "DefaultRegion",
        "TRACE_ON": "true",
    }


def test_a_batch_without_a_key_of_its_own_leaves_its_messages_theirs() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    answer = asked(broker, [part(b"0", UNIQ_KEY="A"), part(b"1", UNIQ_KEY="B")], said={})
    keys = [properties.parse(r.properties)["UNIQ_KEY"] for r in broker.opened.records("T", 1)]
    assert keys == ["A", "B"]
    assert "transactionId" not in (answer.ext or {})


@pytest.mark.parametrize(
    ("parts", "said", "sys_flag", "words"),
    [
        ([part(b"0"), part(b"1", DELAY="1")], {}, 0, "TimeDelayLevel is not supported"),
        ([part(b"0")], {"DELAY": "3"}, 0, "TimeDelayLevel is not supported"),
        ([part(b"0", TIMER_DELAY_SEC="9")], {}, 0, "TimeDelayLevel is not supported"),
        ([part(b"0")], {}, 4, "A transaction is not supported"),
        (
            [part(b"0", WAIT="true"), part(b"1", WAIT="false")],
            {},
            0,
            "The waitStoreMsgOK of the messages in one batch should the same",
        ),
        ([part(b"0"), part(b"")], {}, 0, "The body is empty"),
        ([part(b"x" * 60), part(b"x" * 60)], {}, 0, "body has 178 bytes, maxMessageSize is 100"),
    ],
)
def test_invalid_batch_is_refused_with_its_reason(
    parts: Sequence[BatchPart], said: dict[str, str], sys_flag: int, words: str
) -> None:
    broker = OpenedBroker(store_settings=replace(STORE_SETTINGS, max_message_size=100))
    add_topic(broker)
    answer = asked(broker, parts, said=said, sys_flag=sys_flag)
    assert answer.code == ResponseCode.MESSAGE_ILLEGAL
    assert (answer.remark or "").startswith("the message is illegal, maybe msg body")
    assert words in (answer.remark or "")
    assert not broker.bodies("T", 1)


def test_a_batch_of_13_000_small_messages_is_stored() -> None:
    settings = replace(STORE_SETTINGS, mapped_file_size_commit_log=16 << 20)
    broker = OpenedBroker(store_settings=settings)
    add_topic(broker)
    parts = [part(b"Hello world %d" % number, UNIQ_KEY=UNIQUE) for number in range(13_000)]
    assert len(batch.encode(parts)) < settings.max_message_size
    answer = asked(broker, parts, said={"TAGS": "a", "KEY": "x" * 130})
    assert answer.code == ResponseCode.SUCCESS
    records = broker.opened.records("T", 1)
    assert len(records) == 13_000
    assert sum(record.size for record in records) > settings.max_message_size + 65_536


@pytest.mark.parametrize("max_message_size", [25_000, 4 << 20])
def test_a_small_batch_that_becomes_a_large_one_is_refused(max_message_size: int) -> None:
    broker = OpenedBroker(store_settings=replace(STORE_SETTINGS, max_message_size=max_message_size))
    add_topic(broker)
    parts = [BatchPart(b"b", 0, b"")] * 1000
    assert asked(broker, parts, said={"KEY": "x" * 100}).code == ResponseCode.SUCCESS
    answer = asked(broker, parts, said={"KEY": "x" * 10_000})
    assert answer.code == ResponseCode.MESSAGE_ILLEGAL
    assert "message size exceeded" in (answer.remark or "")
    assert len(broker.bodies("T", 1)) == 1000


def test_a_group_retries_messages_one_by_one() -> None:
    broker = OpenedBroker()
    add_topic(broker, "%RETRY%G")
    answer = asked(broker, [part(b"0")], topic="%RETRY%G")
    assert answer.code == ResponseCode.MESSAGE_ILLEGAL
    assert (answer.remark or "").startswith("batch request does not support retry group %RETRY%G")


@pytest.mark.parametrize("cut", [0, 1, 21, 29])
def test_a_batch_that_lies_about_its_lengths_is_refused_whole(cut: int) -> None:
    broker = OpenedBroker()
    add_topic(broker)
    body = batch.encode([part(b"0"), part(b"1")])[:-cut] if cut else b""
    answer = broker.ask(BATCH, message(batch=True, queue_id=1), body)
    assert answer.code == ResponseCode.MESSAGE_ILLEGAL
    assert not broker.bodies("T", 1)
