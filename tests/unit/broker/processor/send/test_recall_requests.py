"""Recalls: what may be taken back, and what Java answers where it may not."""

from __future__ import annotations

import dataclasses

import pytest

from gantrymq.broker.core.schedule.timers import RecallHandle
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import START_MS, OpenedBroker
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.send import RecallMessageRequest
from gantrymq.wire.message import properties

HANDLE = RecallHandle("T", "broker-a", str(START_MS + 60_001), "ID")


def opened(settings: BrokerSettings | None = None, broker_id: int = 0) -> OpenedBroker:
    identity = dataclasses.replace(OpenedBroker().state.identity, broker_id=broker_id)
    broker = OpenedBroker(settings, identity=identity)
    broker.state.topics.put(TopicConfig("T"), START_MS)
    return broker


def recall(broker: OpenedBroker, handle: RecallHandle | str = HANDLE, topic: str = "T") -> Command:
    text = handle if isinstance(handle, str) else handle.encode()
    header = RecallMessageRequest(topic=topic, recall_handle=text, producer_group="P")
    return broker.ask(RequestCode.RECALL_MESSAGE, header)


def test_a_recall_is_stored_as_java_stores_it() -> None:
    broker = opened()
    answer = recall(broker)
    assert answer.code == ResponseCode.SUCCESS
    assert answer.ext == {"msgId": "ID", "MSG_REGION": "DefaultRegion"}
    (record,) = broker.opened.records("rmq_sys_wheel_timer", 0)
    assert record.body == b"0"
    assert properties.parse(record.properties) == {
        "TAGS": "_RECALL_TAG_",
        "TIMER_DEL_UNIQKEY": "T+ID",
        "UNIQ_KEY": "ID",
        "TIMER_DELIVER_MS": str(START_MS + 60_001),
        "TIMER_OUT_MS": str(START_MS + 60_000),
        "BORN_TIMESTAMP": str(START_MS),
        "PGROUP": "P",
        "REAL_TOPIC": "T",
        "REAL_QID": "0",
    }


@pytest.mark.parametrize(
    ("handle", "topic", "remark"),
    [
        ("nonsense", "T", "recall handle is invalid"),
        (dataclasses.replace(HANDLE, topic="U"), "T", "recall failed, topic not match"),
        (dataclasses.replace(HANDLE, broker_name="b"), "T", "recall failed, broker service not"),
        (dataclasses.replace(HANDLE, timestamp=str(START_MS)), "T", "recall failed, timestamp inv"),
        (dataclasses.replace(HANDLE, timestamp="9" * 19), "T", "recall failed, timestamp invalid"),
        (dataclasses.replace(HANDLE, timestamp="x"), "T", "recall failed, timestamp invalid"),
    ],
)
def test_invalid_recall_handle_is_refused_with_its_error(
    handle: RecallHandle | str, topic: str, remark: str
) -> None:
    answer = recall(opened(), handle, topic)
    assert answer.code == ResponseCode.ILLEGAL_OPERATION
    assert (answer.remark or "").startswith(remark)


def test_refused_recall_has_the_code_of_its_reason() -> None:
    cases = [
        (opened(BrokerSettings(recall_message_enable=False)), ResponseCode.NO_PERMISSION),
        (opened(broker_id=1), ResponseCode.SLAVE_NOT_AVAILABLE),
        (
            opened(BrokerSettings(start_accept_send_request_time_stamp=START_MS + 1)),
            ResponseCode.SERVICE_NOT_AVAILABLE,
        ),
        (opened(BrokerSettings(timer_wheel_enable=False)), ResponseCode.SYSTEM_ERROR),
    ]
    for broker, code in cases:
        assert recall(broker).code == code
    answer = recall(opened(), topic="none")
    assert answer.code == ResponseCode.TOPIC_NOT_EXIST
    assert answer.remark == "recall failed, the topic[none] not exist"
