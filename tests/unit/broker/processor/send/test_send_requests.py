"""What producers are answered, in each form of a send."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from gantrymq.broker.core.schedule import timers
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import STORE_SETTINGS, OpenedBroker
from gantrymq.fakes.brokers.sends import UNIQUE, add_topic, message
from gantrymq.store.settings import FlushDiskType
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.send import SendMessageRequest, SendMessageV2Request
from gantrymq.wire.message import offset_id, properties

SEND = RequestCode.SEND_MESSAGE_V2
SYNC = replace(STORE_SETTINGS, flush_disk_type=FlushDiskType.SYNC_FLUSH)
HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"


def long_names(header: SendMessageV2Request) -> SendMessageRequest:
    return SendMessageRequest(**{each.name: getattr(header, each.name) for each in fields(header)})


def test_a_send_is_answered_with_its_place() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    broker.ask(SEND, message(), b"before")
    answer = broker.ask(SEND, message(queue_id=1), b"hello")
    record = broker.opened.records("T", 1)[0]
    assert answer.code == ResponseCode.SUCCESS
    assert answer.remark is None
    assert answer.ext == {
        "msgId": offset_id.encode(HOST, record.physical_offset),
        "queueId": "1",
        "queueOffset": "0",
        "transactionId": UNIQUE,
        "MSG_REGION": "DefaultRegion",
        "TRACE_ON": "true",
    }


def test_both_sets_of_names_mean_the_same() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    broker.ask(RequestCode.SEND_MESSAGE, long_names(message()), b"long")
    broker.ask(SEND, message(), b"short")
    long, short = broker.opened.records("T", 0)
    assert (long.properties, long.sys_flag, long.flag) == (
        short.properties,
        short.sys_flag,
        short.flag,
    )


def test_a_oneway_send_is_stored_and_not_answered() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    request = broker.send(SEND, message(), b"oneway", is_oneway=True)
    assert broker.answer(request) is None
    assert broker.bodies("T") == [b"oneway"]


def test_a_oneway_send_that_is_refused_is_not_answered_either() -> None:
    broker = OpenedBroker()
    assert broker.answer(broker.send(SEND, message(), is_oneway=True)) is None


def test_refusal_of_an_oversized_message_names_the_limit_and_the_size() -> None:
    broker = OpenedBroker(store_settings=replace(STORE_SETTINGS, max_message_size=10))
    add_topic(broker)
    for header, body, words in (
        (message(), b"12345678901", "The body has 11 bytes, maxMessageSize is 10"),
        (message(), b"", "The body is empty"),
        (message(properties={"a": "x" * 32_767}), b"x", "at most 32767 can be stored"),
    ):
        answer = broker.ask(SEND, header, body)
        assert answer.code == ResponseCode.MESSAGE_ILLEGAL
        assert (answer.remark or "").startswith("the message is illegal, maybe msg body")
        assert words in (answer.remark or "")
        assert (answer.ext or {})["MSG_REGION"] == "DefaultRegion"
    assert not broker.bodies("T")


def test_sync_flush_is_waited_for_unless_the_message_says_not_to() -> None:
    broker = OpenedBroker(store_settings=SYNC)
    add_topic(broker)
    broker.disk_is_stuck = True
    waiting = broker.send(SEND, message(), b"waits")
    hurried = broker.send(SEND, message(properties={"WAIT": "false"}), b"does not")
    assert broker.is_held(waiting)
    assert not broker.is_held(hurried)
    broker.pass_time(5.0)
    late = broker.answer(waiting)
    assert late is not None
    assert late.code == ResponseCode.FLUSH_DISK_TIMEOUT
    assert (late.ext or {})["queueOffset"] == "0"


def test_answer_has_the_region_and_the_trace_switch() -> None:
    broker = OpenedBroker(BrokerSettings(region_id="north", trace_on=False))
    add_topic(broker)
    ext = broker.ask(SEND, message(), b"x").ext or {}
    assert (ext["MSG_REGION"], ext["TRACE_ON"]) == ("north", "false")
    stored = properties.parse(broker.opened.records("T", 0)[0].properties)
    assert (stored["MSG_REGION"], stored["TRACE_ON"]) == ("north", "false")


def test_a_delayed_message_is_answered_with_the_queue_that_was_asked_for() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    answer = broker.ask(
        SEND, message(queue_id=3, properties={"UNIQ_KEY": UNIQUE, "DELAY": "2"}), b"later"
    )
    assert (answer.ext or {})["queueId"] == "3"
    assert broker.bodies("SCHEDULE_TOPIC_XXXX", 1) == [b"later"]
    assert not broker.bodies("T", 3)


def test_answer_to_a_timer_message_has_its_recall_handle() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    said = {"UNIQ_KEY": UNIQUE, "TIMER_DELAY_SEC": "60"}
    answer = broker.ask(SEND, message(queue_id=1, properties=said), b"later")
    handle = timers.decode_handle((answer.ext or {})["recallHandle"])
    assert handle is not None
    assert (handle.topic, handle.broker_name, handle.message_id) == ("T", "broker-a", UNIQUE)
    assert broker.bodies("rmq_sys_wheel_timer") == [b"later"]


def test_timer_message_with_too_long_a_delay_is_refused() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    said = {"UNIQ_KEY": UNIQUE, "TIMER_DELAY_SEC": str(400 * 86_400)}
    answer = broker.ask(SEND, message(properties=said), b"later")
    assert answer.code == ResponseCode.MESSAGE_ILLEGAL
    assert (answer.remark or "").startswith("timer message illegal")
    assert (answer.ext or {})["MSG_REGION"] == "DefaultRegion"


@pytest.mark.parametrize(
    "held", [{"DELAY": "soon"}, {"TIMER_DELAY_SEC": "x"}, {"TIMER_DELAY_SEC": "99999999999"}]
)
def test_a_half_message_that_could_never_be_committed_is_refused(held: dict[str, str]) -> None:
    broker = OpenedBroker()
    add_topic(broker)
    said = {"UNIQ_KEY": "U", "TRAN_MSG": "true", "PGROUP": "g", **held}
    answer = broker.ask(SEND, message(sys_flag=4, properties=said), b"half")
    assert answer.code == ResponseCode.MESSAGE_ILLEGAL
    assert broker.bodies("RMQ_SYS_TRANS_HALF_TOPIC") == []


def test_a_half_message_with_a_delay_is_stored_as_it_came() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    said = {"UNIQ_KEY": "U", "TRAN_MSG": "true", "PGROUP": "g", "DELAY": "99"}
    assert broker.ask(SEND, message(sys_flag=4, properties=said), b"half").code == 0
    (half,) = broker.opened.records("RMQ_SYS_TRANS_HALF_TOPIC", 0)
    held = properties.parse(half.properties)
    assert (held["REAL_TOPIC"], held["DELAY"]) == ("T", "99")


def test_a_half_message_waits_for_its_producer() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    said = {"UNIQ_KEY": UNIQUE, "TRAN_MSG": "true", "PGROUP": "PG"}
    answer = broker.ask(SEND, message(queue_id=2, sys_flag=4, properties=said), b"half")
    assert (answer.code, (answer.ext or {})["queueId"]) == (ResponseCode.SUCCESS, "2")
    assert broker.bodies("RMQ_SYS_TRANS_HALF_TOPIC") == [b"half"]
    assert not broker.bodies("T", 2)


def test_transaction_bits_without_a_transaction_hide_no_message() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    assert broker.ask(SEND, message(sys_flag=0xC), b"seen").code == ResponseCode.SUCCESS
    assert broker.bodies("T") == [b"seen"]


def test_stored_and_refused_messages_are_counted() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    broker.ask(SEND, message(), b"x")
    broker.ask(SEND, message(), b"")
    assert broker.state.stats.totals.puts == 1
    assert broker.state.stats.totals.put_bytes == broker.opened.records("T", 0)[0].size
    assert broker.state.stats.totals.put_failures == 1
