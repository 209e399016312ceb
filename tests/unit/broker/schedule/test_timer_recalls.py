"""A recalled timer message is not delivered, even after a restart or a roll."""

from __future__ import annotations

from gantrymq.fakes.brokers.broker import START_MS, OpenedBroker
from gantrymq.fakes.brokers.timers import (
    HOUR_SECONDS,
    accept,
    jump,
    recall,
    restarted,
)
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.headers.send import SendMessageV2Request
from gantrymq.wire.message import properties


def test_recalled_message_is_not_delivered() -> None:
    broker = OpenedBroker()
    handle = accept(broker, 60, b"1")
    accept(broker, 60, b"2")
    assert recall(broker, handle) == "1"
    broker.pass_time(70)
    assert broker.bodies("T") == [b"2"]
    assert broker.services.timer_service.counters["recalled"] == 1


def test_recall_at_the_last_moment_is_read_before_its_second_is_delivered() -> None:
    broker = OpenedBroker()
    accept(broker, 60, b"1")
    broker.pass_time(59)
    for number in range(300):
        accept(broker, 5, b"other %d" % number)
    accept(broker, 1, b"0", TIMER_DEL_UNIQKEY="T+1")
    broker.now += 3
    broker.settle()
    assert broker.bodies("T") == []


def test_recall_survives_a_restart() -> None:
    broker = OpenedBroker()
    handle = accept(broker, 60, b"1")
    recall(broker, handle)
    again = restarted(broker)
    again.pass_time(70)
    assert again.bodies("T") == []


def test_recall_works_after_its_message_was_rolled() -> None:
    broker = OpenedBroker()
    handle = accept(broker, 5 * 86_400, b"1")
    broker.settle()
    for _ in range(4 * 24):
        jump(broker, HOUR_SECONDS)
    assert broker.services.timer_service.counters["rolled"] == 1
    recall(broker, handle)
    jump(broker, 2 * 86_400)
    assert broker.bodies("T") == []


def test_send_is_answered_with_a_handle_that_recalls_the_message() -> None:
    broker = OpenedBroker()
    broker.state.topics.put(TopicConfig("T"), START_MS)
    header = SendMessageV2Request(
        producer_group="P",
        topic="T",
        default_topic="TBW102",
        default_topic_queue_nums=4,
        queue_id=0,
        sys_flag=0,
        born_timestamp=START_MS,
        flag=0,
        properties=properties.encode({"TIMER_DELAY_SEC": "60"}).decode(),
    )
    answers = [broker.ask(RequestCode.SEND_MESSAGE_V2, header, b"x") for _ in range(2)]
    assert [answer.code for answer in answers] == [0, 0]
    assert answers[0].ext is not None
    recall(broker, answers[0].ext["recallHandle"])
    broker.pass_time(70)
    assert broker.bodies("T") == [b"x"]
