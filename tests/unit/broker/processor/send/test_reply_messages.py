"""Tests how replies reach the client that sent the request."""

from __future__ import annotations

import pytest

from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.tables.consumer_group import Client
from gantrymq.fakes.brokers.broker import IDENTITY, FakeChannel, OpenedBroker
from gantrymq.fakes.brokers.sends import UNIQUE, add_topic, message
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.send import ReplyMessageRequest
from gantrymq.wire.message import offset_id, properties

REPLY = RequestCode.SEND_REPLY_MESSAGE_V2
TOPIC = "DefaultCluster_REPLY_TOPIC"
SAID = {"MSG_TYPE": "reply", "CORRELATION_ID": "c", "TTL": "8000", "UNIQ_KEY": UNIQUE}


def opened(settings: BrokerSettings | None = None) -> OpenedBroker:
    broker = OpenedBroker(settings)
    add_topic(broker, TOPIC, queues=1)
    return broker


def requester(broker: OpenedBroker, client_id: str = "1.2.3.4@rq") -> FakeChannel:
    channel = FakeChannel()
    client = Client(channel, client_id, 0, 479, broker.now, broker.wall_ms)
    broker.state.clients.add_producer("RQ", client)
    return channel


def replied(
    broker: OpenedBroker,
    channel: FakeChannel,
    response: Command | None,
    to: str | None = "1.2.3.4@rq",
) -> Command:
    """The answer to the replier, when the requester at `channel` responds so."""
    said = SAID if to is None else {**SAID, "REPLY_TO_CLIENT": to}
    request = broker.send(REPLY, message(TOPIC, properties=said), b"pong")
    for asked in channel.asked:
        assert broker.is_held(request)
        broker.client_answers(asked, response)
    answer = broker.answer(request)
    assert answer is not None
    return answer


def test_a_reply_is_pushed_to_the_client_that_asked_and_kept() -> None:
    broker = opened()
    channel = requester(broker)
    answer = replied(broker, channel, Command(0))
    (asked,) = channel.asked
    assert asked.command.code == RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT
    assert asked.command.body == b"pong"
    pushed = ReplyMessageRequest.decode(asked.command.ext)
    assert (pushed.topic, pushed.producer_group, pushed.flag) == (TOPIC, "PG", 7)
    assert (pushed.born_host, pushed.store_host) == (broker.channel.peer, IDENTITY.address)
    assert properties.parse((pushed.properties or "").encode()) == {
        **SAID,
        "REPLY_TO_CLIENT": "1.2.3.4@rq",
        "PUSH_REPLY_TIME": str(broker.wall_ms),
        "MSG_REGION": "DefaultRegion",
        "TRACE_ON": "true",
    }
    (kept,) = broker.opened.records(TOPIC, 0)
    assert kept.body == b"pong"
    assert "PUSH_REPLY_TIME" not in properties.parse(kept.properties)
    assert (answer.code, answer.remark) == (ResponseCode.SUCCESS, None)
    assert answer.ext == {
        "msgId": offset_id.encode(IDENTITY.store_host, kept.physical_offset),
        "queueId": "0",
        "queueOffset": "0",
        "MSG_REGION": "DefaultRegion",
        "TRACE_ON": "true",
    }


def test_replies_are_not_stored_when_the_setting_is_off() -> None:
    broker = opened(BrokerSettings(store_reply_message_enable=False))
    answer = replied(broker, requester(broker), Command(0))
    assert (answer.ext or {})["msgId"] == "0"
    assert not broker.bodies(TOPIC)


@pytest.mark.parametrize(
    ("to", "response", "remark"),
    [
        (None, None, "reply message properties[REPLY_TO_CLIENT] is null"),
        ("gone", None, "push reply message fail, channel of <gone> not found"),
        ("1.2.3.4@rq", None, "push reply message to 1.2.3.4@rq fail. It did not answer in 10 s"),
        ("1.2.3.4@rq", Command(1, remark="no"), "push reply message to 1.2.3.4@rq fail."),
    ],
)
def test_undelivered_reply_is_reported_and_stored(
    to: str | None, response: Command | None, remark: str
) -> None:
    broker = opened()
    answer = replied(broker, requester(broker), response, to)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert (answer.remark or "").startswith(remark)
    assert broker.bodies(TOPIC) == [b"pong"]


def test_the_connection_heard_of_last_gets_the_reply() -> None:
    broker = opened()
    old = requester(broker)
    broker.pass_time(1.0)
    new = requester(broker)
    broker.pass_time(1.0)
    closing = requester(broker)
    closing.is_closing = True
    replied(broker, new, Command(0))
    assert (len(old.asked), len(new.asked), len(closing.asked)) == (0, 1, 0)


def test_a_reply_is_judged_like_any_send() -> None:
    broker = OpenedBroker()
    answer = broker.ask(REPLY, message("missing"), b"pong")
    assert answer.code == ResponseCode.TOPIC_NOT_EXIST
