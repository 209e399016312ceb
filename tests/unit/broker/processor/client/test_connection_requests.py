"""Tests lists of connected clients, and requests that the broker passes on to clients."""

from __future__ import annotations

import json

import pytest

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.figures.requests import UNKNOWN_CODE
from gantrymq.fakes.brokers.broker import START_MS, FakeChannel, OpenedBroker
from gantrymq.fakes.brokers.heartbeats import beat, consumer
from gantrymq.fakes.stores.store import HOST, message
from gantrymq.wire import javajson
from gantrymq.wire.bodies.connections import ConsumerStatus, Progress
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.heartbeat import SubscriptionData
from gantrymq.wire.bodies.shared import MessageQueue, TopicConfig
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.header import Header
from gantrymq.wire.headers.client import (
    ConsumeMessageDirectlyRequest,
    ConsumerGroupRequest,
    GetConsumerRunningInfoRequest,
    GetProducerConnectionListRequest,
)
from gantrymq.wire.headers.offset import GetConsumerStatusRequest
from gantrymq.wire.message import offset_id, record

RUNNING_INFO = GetConsumerRunningInfoRequest(consumer_group="G", client_id="c", jstack_enable=False)
STATUS = GetConsumerStatusRequest(topic="T", group="G")
PROGRESS: Progress = {MessageQueue("T", "broker-a", 0): 7}
STATUS_BODY = javajson.dumps_fastjson(ConsumerStatus(progress=PROGRESS).to_json())


def with_consumer(client_id: str = "c") -> tuple[OpenedBroker, FakeChannel]:
    broker, channel = OpenedBroker(), FakeChannel()
    beat(broker, channel, consumer("G", "T"), producers=("P",), client_id=client_id)
    return broker, channel


def assert_refused(answer: Command | None, code: ResponseCode, start: str) -> None:
    assert answer is not None
    assert answer.code == code
    assert answer.remark is not None
    assert answer.remark.startswith(start)


# ---------------------------------------------------------------------- connections


def test_consumers_of_a_group_are_listed() -> None:
    broker, channel = with_consumer()
    answer = broker.ask(
        RequestCode.GET_CONSUMER_CONNECTION_LIST, ConsumerGroupRequest(consumer_group="G")
    )
    assert json.loads(answer.body) == {
        "connectionSet": [
            {"clientAddr": channel.peer, "clientId": "c", "language": "JAVA", "version": 479}
        ],
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
        "consumeType": "CONSUME_PASSIVELY",
        "messageModel": "CLUSTERING",
        "subscriptionTable": {"T": SubscriptionData(topic="T", sub_version=1).to_json()},
    }


def test_group_without_consumers_is_not_online() -> None:
    header = ConsumerGroupRequest(consumer_group="G")
    answer = OpenedBroker().ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, header)
    assert_refused(answer, ResponseCode.CONSUMER_NOT_ONLINE, "the consumer group[G] not online")


def test_producers_of_a_group_are_listed() -> None:
    broker, channel = with_consumer()
    header = GetProducerConnectionListRequest(producer_group="P")
    answer = broker.ask(RequestCode.GET_PRODUCER_CONNECTION_LIST, header)
    (connection,) = json.loads(answer.body)["connectionSet"]
    assert connection["clientAddr"] == channel.peer
    assert connection["clientId"] == "c"


def test_unknown_group_of_producers_is_refused() -> None:
    header = GetProducerConnectionListRequest(producer_group="P")
    answer = OpenedBroker().ask(RequestCode.GET_PRODUCER_CONNECTION_LIST, header)
    assert_refused(answer, ResponseCode.SYSTEM_ERROR, "the producer group[P] not exist")


def test_all_producers_are_listed_by_group() -> None:
    broker, channel = with_consumer()
    answer = broker.ask(RequestCode.GET_ALL_PRODUCER_INFO)
    assert json.loads(answer.body) == {
        "data": {
            "P": [
                {
                    "clientId": "c",
                    "language": "JAVA",
                    "lastUpdateTimestamp": START_MS,
                    "remoteIP": f"/{channel.peer}",
                    "version": 479,
                }
            ]
        }
    }


def test_unknown_language_is_other() -> None:
    broker, channel = OpenedBroker(), FakeChannel()
    body = b'{"clientID":"c","producerDataSet":[{"groupName":"P"}]}'
    broker.send(RequestCode.HEART_BEAT, body=body, channel=channel, language=99)
    answer = broker.ask(RequestCode.GET_ALL_PRODUCER_INFO)
    assert json.loads(answer.body)["data"]["P"][0]["language"] == "OTHER"


# ---------------------------------------------------------------------- passed on


def test_question_and_answer_are_passed_on_as_they_are() -> None:
    broker, channel = with_consumer()
    request = broker.send(RequestCode.GET_CONSUMER_RUNNING_INFO, RUNNING_INFO)
    assert broker.is_held(request)
    (asked,) = channel.asked
    assert asked.command.code == RequestCode.GET_CONSUMER_RUNNING_INFO
    assert asked.command.ext == RUNNING_INFO.encode()
    broker.client_answers(asked, Command(0, remark="fine", body=b"{}", opaque=77))
    answer = broker.answer(request)
    assert answer is not None
    assert (answer.code, answer.remark, answer.body) == (0, "fine", b"{}")
    assert answer.opaque == 0


def test_refusal_of_a_client_is_passed_on() -> None:
    broker, channel = with_consumer()
    request = broker.send(RequestCode.GET_CONSUMER_RUNNING_INFO, RUNNING_INFO)
    broker.client_answers(channel.asked[0], Command(1, remark="no such group here"))
    assert_refused(broker.answer(request), ResponseCode.SYSTEM_ERROR, "no such group here")


def test_codes_that_clients_make_up_are_counted_as_one() -> None:
    broker, channel = with_consumer()
    for code in (70_000, 70_001):
        request = broker.send(RequestCode.GET_CONSUMER_RUNNING_INFO, RUNNING_INFO)
        broker.client_answers(channel.asked[-1], Command(code))
        answer = broker.answer(request)
        assert answer is not None
        assert answer.code == code
    counted = {
        answered: count
        for (code, answered), count in broker.state.request_figures.counts().items()
        if code == RequestCode.GET_CONSUMER_RUNNING_INFO
    }
    assert counted == {UNKNOWN_CODE: 2}


def test_client_that_does_not_answer_in_time_is_reported() -> None:
    broker, channel = with_consumer()
    request = broker.send(RequestCode.GET_CONSUMER_RUNNING_INFO, RUNNING_INFO)
    broker.client_answers(channel.asked[0], None)
    assert_refused(
        broker.answer(request), ResponseCode.CONSUME_MSG_TIMEOUT, "consumer <G> <c> Timeout"
    )


def test_client_that_is_not_there_is_not_asked() -> None:
    broker, _ = with_consumer("d")
    answer = broker.ask(RequestCode.GET_CONSUMER_RUNNING_INFO, RUNNING_INFO)
    assert_refused(answer, ResponseCode.SYSTEM_ERROR, "The Consumer <G> <c> not online")


def test_client_that_is_too_old_is_not_asked() -> None:
    broker, channel = OpenedBroker(), FakeChannel()
    body = b'{"clientID":"c","consumerDataSet":[{"groupName":"G"}]}'
    broker.ask(RequestCode.HEART_BEAT, body=body, channel=channel, version=27)
    for code, header, start in (
        (RequestCode.GET_CONSUMER_RUNNING_INFO, RUNNING_INFO, "The Consumer <c> Version <V3_0_"),
        (
            RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS,
            STATUS,
            "the client does not support this feature. version=",
        ),
    ):
        assert_refused(broker.ask(code, header), ResponseCode.SYSTEM_ERROR, start)


# ---------------------------------------------------------------------- consume now


def consume(broker: OpenedBroker, message_id: str) -> Header:
    broker.state.task_runner.start(tasks.put(message(1)), lambda _: None, lambda _: None)
    broker.settle()
    assert broker.bodies("T") == [b"body 1"]
    return ConsumeMessageDirectlyRequest(
        consumer_group="G", client_id="c", msg_id=message_id, topic="T"
    )


def test_stored_message_is_given_to_the_client() -> None:
    broker, channel = with_consumer()
    broker.state.topics.put(TopicConfig("T", topic_sys_flag=1), 0)
    broker.state.groups.put(GroupConfig(group_name="G", group_sys_flag=2), 0)
    message_id = offset_id.encode(HOST, 0)
    request = broker.send(RequestCode.CONSUME_MESSAGE_DIRECTLY, consume(broker, message_id))
    (asked,) = channel.asked
    assert record.decode(asked.command.body).body == b"body 1"
    assert asked.command.ext == {
        "brokerName": "broker-a",
        "clientId": "c",
        "consumerGroup": "G",
        "groupSysFlag": "2",
        "msgId": message_id,
        "topic": "T",
        "topicSysFlag": "1",
    }
    broker.client_answers(asked, Command(0, body=b'{"consumeResult":"CR_SUCCESS"}'))
    answer = broker.answer(request)
    assert answer is not None
    assert answer.body == b'{"consumeResult":"CR_SUCCESS"}'


@pytest.mark.parametrize("message_id", ["", "nonsense", "Z" * 32, "F" * 32])
def test_id_that_is_no_offset_id_is_refused(message_id: str) -> None:
    broker, channel = with_consumer()
    answer = broker.ask(RequestCode.CONSUME_MESSAGE_DIRECTLY, consume(broker, message_id))
    assert_refused(answer, ResponseCode.SYSTEM_ERROR, "")
    assert channel.asked == []


def test_message_that_is_not_there_is_refused() -> None:
    broker, channel = with_consumer()
    header = consume(broker, offset_id.encode(HOST, 1))
    answer = broker.ask(RequestCode.CONSUME_MESSAGE_DIRECTLY, header)
    start = "can not find message by the offset, 1"
    assert_refused(answer, ResponseCode.SYSTEM_ERROR, start)
    assert channel.asked == []


# ---------------------------------------------------------------------- how far clients are


def test_progress_of_all_clients_is_gathered() -> None:
    broker, one = with_consumer("c")
    two, three = FakeChannel(), FakeChannel()
    beat(broker, two, consumer("G", "T"), client_id="d")
    beat(broker, three, consumer("G", "T"), client_id="e")
    request = broker.send(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, STATUS)
    broker.client_answers(one.asked[0], Command(0, body=STATUS_BODY))
    broker.client_answers(two.asked[0], Command(1, body=STATUS_BODY))
    assert two.asked[0].command.ext == {"topic": "T", "group": "G"}
    broker.client_answers(three.asked[0], Command(0, body=b"[nonsense"))
    answer = broker.answer(request)
    assert answer is not None
    assert answer.body.decode() == (
        '{"consumerTable":{"c":{{"brokerName":"broker-a","queueId":0,"topic":"T"}:7}},'
        '"messageQueueTable":{}}'
    )


def test_progress_of_one_client_is_asked_of_that_one() -> None:
    broker, one = with_consumer("c")
    two = FakeChannel()
    beat(broker, two, consumer("G", "T"), client_id="d")
    header = GetConsumerStatusRequest(topic="T", group="G", client_addr="d")
    request = broker.send(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, header)
    assert one.asked == []
    broker.client_answers(two.asked[0], Command(0, body=STATUS_BODY))
    assert not broker.is_held(request)


def test_clients_that_do_not_answer_take_five_seconds_together() -> None:
    broker, one = with_consumer("c")
    two, three = FakeChannel(), FakeChannel()
    beat(broker, two, consumer("G", "T"), client_id="d")
    beat(broker, three, consumer("G", "T"), client_id="e")
    request = broker.send(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, STATUS)
    broker.pass_time(3.0)
    broker.client_answers(one.asked[0], None)
    assert two.asked[0].timeout_seconds == pytest.approx(2.0)
    broker.pass_time(2.0)
    broker.client_answers(two.asked[0], None)
    assert three.asked == []
    assert not broker.is_held(request)


def test_progress_of_a_group_without_consumers_is_refused() -> None:
    answer = OpenedBroker().ask(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, STATUS)
    start = "No Any Consumer online in the consumer group: [G]"
    assert_refused(answer, ResponseCode.SYSTEM_ERROR, start)
