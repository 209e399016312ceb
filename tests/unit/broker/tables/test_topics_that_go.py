"""A topic may be deleted while requests for it wait."""

from __future__ import annotations

from gantrymq.broker.core.messages import Request
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.sends import add_topic, message
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.send import ConsumerSendMsgBackRequest
from gantrymq.wire.headers.topic import DeleteTopicRequest
from gantrymq.wire.message import batch


def assert_is_not_stored(send: Command) -> None:
    """What is sent to A, which is made for it and deleted before that is saved."""
    broker = OpenedBroker(BrokerSettings(auto_create_topic_enable=True))
    waiting = Request(send, broker.channel)
    broker.broker.handle(waiting, broker.now, broker.wall_ms)
    broker.ask(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequest(topic="A"))
    answer = broker.answer(waiting)
    assert answer is not None
    assert answer.code == ResponseCode.TOPIC_NOT_EXIST
    assert broker.bodies("A") == []


def test_a_message_is_not_acknowledged_into_a_topic_that_went_while_it_was_created() -> None:
    ext = message("A").encode()
    assert_is_not_stored(Command(RequestCode.SEND_MESSAGE_V2, ext=ext, body=b"new"))


def test_a_batch_is_not_acknowledged_into_such_a_topic() -> None:
    body = batch.encode([batch.BatchPart(b"one"), batch.BatchPart(b"two")])
    ext = message("A", batch=True).encode()
    assert_is_not_stored(Command(RequestCode.SEND_BATCH_MESSAGE, ext=ext, body=body))


def test_a_message_is_not_sent_back_into_a_retry_topic_that_went() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    broker.state.groups.put(GroupConfig(group_name="G"), broker.wall_ms)
    broker.ask(RequestCode.SEND_MESSAGE_V2, message(), b"again")
    header = ConsumerSendMsgBackRequest(
        offset=0,
        group="G",
        delay_level=0,
        origin_msg_id="",
        origin_topic="T",
        unit_mode=False,
        max_reconsume_times=16,
    )
    back = Command(RequestCode.CONSUMER_SEND_MSG_BACK, ext=header.encode())
    waiting = Request(back, broker.channel)
    broker.broker.handle(waiting, broker.now, broker.wall_ms)
    broker.ask(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequest(topic="%RETRY%G"))
    answer = broker.answer(waiting)
    assert answer is not None
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "topic[%RETRY%G] was deleted just now" in (answer.remark or "")
    assert broker.bodies("SCHEDULE_TOPIC_XXXX", 2) == []
