"""Timers: led away, their moments judged, and their recall handles."""

from __future__ import annotations

import base64

import pytest

from gantrymq.broker.core.schedule import timers
from gantrymq.broker.core.schedule.timers import RecallHandle, decode_handle, recall_handle, rewrite
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import START_MS, OpenedBroker
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.message import properties, sys_flag
from gantrymq.wire.message.record import Record

HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
YEAR = 365 * 86_400


def timer(topic: str = "T", **named: str) -> Record:
    return Record(
        topic.encode(),
        b"x",
        properties=properties.encode({"UNIQ_KEY": "U", **named}),
        queue_id=2,
        born_host=HOST,
        store_host=HOST,
    )


def out_ms(**named: str) -> str:
    record = rewrite(OpenedBroker().state, timer(**named))
    assert isinstance(record, Record)
    assert (record.topic, record.queue_id) == (b"rmq_sys_wheel_timer", 0)
    said = properties.parse(record.properties)
    assert (said["REAL_TOPIC"], said["REAL_QID"]) == ("T", "2")
    return said["TIMER_OUT_MS"]


def test_a_moment_becomes_the_second_before_it_as_in_java() -> None:
    assert out_ms(TIMER_DELIVER_MS=str(START_MS + 1500)) == str(START_MS + 1000)
    assert out_ms(TIMER_DELIVER_MS=str(START_MS + 2000)) == str(START_MS + 1000)
    assert out_ms(TIMER_DELAY_MS="2001") == str(START_MS + 2000)
    assert out_ms(TIMER_DELAY_SEC="5") == str(START_MS + 4000)


def test_the_first_way_to_say_it_counts() -> None:
    assert out_ms(TIMER_DELIVER_MS="x", TIMER_DELAY_MS="y", TIMER_DELAY_SEC="9") == str(
        START_MS + 8000
    )


def test_a_year_is_taken_and_a_second_more_is_not() -> None:
    assert out_ms(TIMER_DELAY_SEC=str(YEAR)) == str(START_MS + (YEAR - 1) * 1000)
    refused = rewrite(OpenedBroker().state, timer(TIMER_DELAY_SEC=str(YEAR + 1)))
    assert isinstance(refused, tuple)
    assert refused[0] == ResponseCode.MESSAGE_ILLEGAL
    assert refused[1].startswith(
        "timer message illegal, the delay time should not be bigger than the max delay "
        "31536000000ms; or if set del msg, the delay time should be bigger than the current time"
    )


@pytest.mark.parametrize("said", ["", "x", "1.5", "+", "-", "1" * 30, "9223372036854775808", "٣"])
def test_delay_that_is_no_number_is_refused(said: str) -> None:
    refused = rewrite(OpenedBroker().state, timer(TIMER_DELAY_MS=said or " "))
    assert isinstance(refused, tuple)
    assert refused[0] == ResponseCode.MESSAGE_ILLEGAL


@pytest.mark.parametrize(
    "named",
    [
        {"TIMER_DELIVER_MS": str(START_MS)},
        {"TIMER_DELAY_MS": "0"},
        {"TIMER_DELAY_SEC": "-5"},
        {"TIMER_DELIVER_MS": "-9223372036854775807"},
        {"TIMER_OUT_MS": "1", "TIMER_DELAY_MS": "5000"},
        {"DELAY": "3", "TIMER_DELAY_MS": "5000"},
        {"X_TIMER_DELAY_MS": "5000"},
    ],
)
def test_message_without_a_timer_is_unchanged(named: dict[str, str]) -> None:
    record = timer(**named)
    assert rewrite(OpenedBroker().state, record) is record
    assert record.topic == b"T"


def test_a_half_message_is_left_alone() -> None:
    record = timer(TIMER_DELAY_MS="5000")
    record.sys_flag = sys_flag.TRANSACTION_PREPARED
    assert rewrite(OpenedBroker().state, record) is record
    assert record.topic == b"T"


@pytest.mark.parametrize("key", ["U+ID", "TT+ID", "ID"])
def test_a_message_of_one_topic_recalls_none_of_another(key: str) -> None:
    refused = rewrite(OpenedBroker().state, timer(TIMER_DEL_UNIQKEY=key, TIMER_DELAY_SEC="9"))
    assert isinstance(refused, tuple)
    assert refused[0] == ResponseCode.MESSAGE_ILLEGAL
    assert "TIMER_DEL_UNIQKEY" in refused[1]
    assert "begin with T+" in refused[1]
    assert out_ms(TIMER_DEL_UNIQKEY="T+ID", TIMER_DELAY_SEC="9") == str(START_MS + 8000)


def test_recall_of_a_past_timer_is_refused() -> None:
    refused = rewrite(OpenedBroker().state, timer(TIMER_DEL_UNIQKEY="T+U", TIMER_DELAY_MS="0"))
    assert isinstance(refused, tuple)
    assert refused[0] == ResponseCode.MESSAGE_ILLEGAL


def test_without_the_wheel_timers_are_refused() -> None:
    broker = OpenedBroker(BrokerSettings(timer_wheel_enable=False))
    refused = rewrite(broker.state, timer(TIMER_DELAY_MS="5000"))
    assert isinstance(refused, tuple)
    assert refused[0] == ResponseCode.SYSTEM_ERROR
    assert refused[1].startswith("accurate timer message is not enabled, timerWheelEnable is false")


def test_more_than_fit_into_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timers, "TIMERS_MAX", 0)
    refused = rewrite(OpenedBroker().state, timer(TIMER_DELAY_MS="5000"))
    assert isinstance(refused, tuple)
    assert refused[1].startswith("timer message is under flow control, max num limit is 0")


def test_recall_handle_equals_that_of_java() -> None:
    broker = OpenedBroker()
    record = rewrite(broker.state, timer(TIMER_DELIVER_MS=str(START_MS + 60_000)))
    assert isinstance(record, Record)
    handle = recall_handle(broker.state, record)
    assert handle is not None
    said = base64.urlsafe_b64decode(handle).decode()
    assert said == f"v1 T broker-a {START_MS + 59_001} U"
    assert decode_handle(handle) == RecallHandle("T", "broker-a", str(START_MS + 59_001), "U")


def test_only_timers_have_a_handle_and_not_those_of_retries() -> None:
    broker = OpenedBroker()
    assert recall_handle(broker.state, timer()) is None
    retry = rewrite(broker.state, timer("%RETRY%G", TIMER_DELAY_MS="5000"))
    assert isinstance(retry, Record)
    assert recall_handle(broker.state, retry) is None


@pytest.mark.parametrize("text", ["", "x", "é", "djE=", "djIgYSBiIDEgYw==", "v1 a b 1 c"])
def test_nonsense_is_no_handle(text: str) -> None:
    assert decode_handle(text) is None
