"""A topic may be deleted while requests for it wait."""

from __future__ import annotations

from gantrymq.broker.core.messages import Request
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.broker import OpenedBroker
from gantrymq.fakes.sends import message
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.topic import DeleteTopicRequest


def test_a_message_is_not_acknowledged_into_a_topic_that_went_while_it_was_created() -> None:
    broker = OpenedBroker(BrokerSettings(auto_create_topic_enable=True))
    send = Command(RequestCode.SEND_MESSAGE_V2, ext=message("A").encode(), body=b"new")
    waiting = Request(send, broker.channel)
    broker.broker.handle(waiting, broker.now, broker.wall_ms)
    broker.ask(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequest(topic="A"))
    answer = broker.answer(waiting)
    assert answer is not None
    assert answer.code == ResponseCode.TOPIC_NOT_EXIST
    assert broker.bodies("A") == []
