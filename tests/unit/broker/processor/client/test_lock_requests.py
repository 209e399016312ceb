"""Tests LOCK_BATCH_MQ and UNLOCK_BATCH_MQ."""

from __future__ import annotations

import json

import pytest

from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import IDENTITY, OpenedBroker
from gantrymq.wire import javajson
from gantrymq.wire.bodies.locks import QueuesOfClient
from gantrymq.wire.bodies.shared import MessageQueue, TopicConfig
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command

QUEUES = tuple(MessageQueue("T", IDENTITY.name, number) for number in range(2))


def broker_with_topic() -> OpenedBroker:
    broker = OpenedBroker()
    broker.state.topics.put(TopicConfig("T", read_queue_nums=2), 0)
    return broker


def ask(
    broker: OpenedBroker, code: RequestCode, client_id: str, queues: tuple[MessageQueue, ...]
) -> Command:
    body = QueuesOfClient(client_id=client_id, consumer_group="G", queues=queues)
    return broker.ask(code, body=javajson.dumps_fastjson(body.to_json()))


def locked(broker: OpenedBroker, client_id: str, queues: tuple[MessageQueue, ...]) -> list[int]:
    answer = ask(broker, RequestCode.LOCK_BATCH_MQ, client_id, queues)
    assert answer.code == ResponseCode.SUCCESS
    return [queue["queueId"] for queue in json.loads(answer.body)["lockOKMQSet"]]


def test_locked_queues_belong_to_one_client_until_it_unlocks_them() -> None:
    broker = broker_with_topic()
    assert locked(broker, "c", QUEUES) == [0, 1]
    assert locked(broker, "d", QUEUES) == []
    assert ask(broker, RequestCode.UNLOCK_BATCH_MQ, "c", QUEUES[:1]).code == ResponseCode.SUCCESS
    assert locked(broker, "d", QUEUES) == [0]


def test_lock_of_a_client_that_went_silent_is_given_to_another() -> None:
    broker = broker_with_topic()
    locked(broker, "c", QUEUES)
    broker.pass_time(60.1)
    assert locked(broker, "d", QUEUES) == [0, 1]


def test_answer_is_java_s() -> None:
    answer = ask(broker_with_topic(), RequestCode.LOCK_BATCH_MQ, "c", QUEUES[:1])
    assert answer.body == (b'{"lockOKMQSet":[{"brokerName":"broker-a","queueId":0,"topic":"T"}]}')


def test_queues_that_are_not_here_are_not_locked() -> None:
    absent = (
        MessageQueue("T", IDENTITY.name, 2),
        MessageQueue("T", IDENTITY.name, -1),
        MessageQueue("T", "another", 0),
        MessageQueue("U", IDENTITY.name, 0),
    )
    broker = broker_with_topic()
    assert locked(broker, "c", absent) == []
    assert len(broker.state.locks) == 0


def test_lock_for_a_group_that_may_not_be_created_is_refused_with_a_remedy() -> None:
    broker = OpenedBroker(BrokerSettings(auto_create_subscription_group=False))
    answer = ask(broker, RequestCode.LOCK_BATCH_MQ, "c", QUEUES)
    assert answer.code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    assert answer.remark is not None
    assert "updateSubGroup" in answer.remark


def test_endless_client_id_is_refused() -> None:
    answer = ask(broker_with_topic(), RequestCode.LOCK_BATCH_MQ, "c" * 1001, QUEUES)
    assert answer.code == ResponseCode.SYSTEM_ERROR


@pytest.mark.parametrize("code", [RequestCode.LOCK_BATCH_MQ, RequestCode.UNLOCK_BATCH_MQ])
@pytest.mark.parametrize("body", [b"", b"7", b'{"clientId":"c","consumerGroup":"G","mqSet":[1]}'])
def test_nonsense_is_refused(code: RequestCode, body: bytes) -> None:
    assert OpenedBroker().ask(code, body=body).code == ResponseCode.SYSTEM_ERROR
