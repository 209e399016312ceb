"""Tests requests that delete files and topics."""

from __future__ import annotations

from gantrymq.broker.core.engine import tasks
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.stores.store import message
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import RequestCode, ResponseCode


def put(broker: OpenedBroker, topic: str) -> None:
    broker.state.task_runner.start(tasks.put(message(1, topic)), lambda _: None, lambda _: None)
    broker.settle()


def test_queues_of_no_topic_go_and_no_others() -> None:
    broker = OpenedBroker()
    broker.state.topics.put(TopicConfig("kept"), broker.wall_ms)
    for topic in ("kept", "unknown", "SCHEDULE_TOPIC_XXXX", "rmq_sys_of_another_version"):
        put(broker, topic)
    assert broker.ask(RequestCode.CLEAN_UNUSED_TOPIC).code == ResponseCode.SUCCESS
    left = set(broker.state.store.queues.topics())
    assert left == {"kept", "SCHEDULE_TOPIC_XXXX", "rmq_sys_of_another_version"}
    assert any("unknown" in line.text for line in broker.lines)


def test_old_files_go_before_their_hour() -> None:
    broker = OpenedBroker()
    retention = broker.state.store.retention
    assert retention is not None
    first_look = retention.deadline()
    answer = broker.ask(RequestCode.DELETE_EXPIRED_COMMITLOG)
    assert answer.code == ResponseCode.SUCCESS
    assert broker.now < retention.deadline() < first_look


def test_queues_need_no_cleaning() -> None:
    answer = OpenedBroker().ask(RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE)
    assert (answer.code, answer.remark) == (ResponseCode.SUCCESS, None)
