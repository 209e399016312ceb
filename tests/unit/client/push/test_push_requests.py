"""Push consumers answer the requests of operators: offset resets, progress, direct consumption."""

from __future__ import annotations

import pytest

from gantrymq.client.core.message.outcomes import LATER
from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.fakes.brokers.consumers import Consumer, stored_offset
from gantrymq.wire import javajson
from gantrymq.wire.bodies.offsets import ResetOffsetBody
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.message import record


@pytest.mark.parametrize("is_for_cpp", [False, True])
def test_a_reset_restarts_consumption_at_the_offset(*, is_for_cpp: bool) -> None:
    cluster = Cluster()
    cluster.store("a", "b", "c")
    consumer = Consumer(cluster).start()
    body = ResetOffsetBody({MessageQueue("T", "broker-a", 0): 1})
    bean = body.to_json_for_cpp() if is_for_cpp else body.to_json()
    ext = {"topic": "T", "group": "G", "timestamp": "1", "isForce": "true"}
    code = RequestCode.RESET_CONSUMER_CLIENT_OFFSET
    request = Command(code, ext=ext, body=javajson.dumps_fastjson(bean))
    assert consumer.client.run(consumer.client.instance.serve("broker", request)) is None
    cluster.pass_time(2.0)
    assert consumer.bodies == ["a", "b", "c", "b", "c"]
    consumer.close()
    assert stored_offset(cluster) == 3


def test_operators_get_the_progress() -> None:
    cluster = Cluster()
    cluster.store("a", "b")
    consumer = Consumer(cluster).start()
    ext = {"group": "G", "topic": "T"}
    bean = asked(consumer, RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, ext)
    table = bean["messageQueueTable"]
    assert isinstance(table, dict)
    assert table[MessageQueue("T", "broker-a", 0).to_key()] == 2
    bean = asked(consumer, RequestCode.GET_CONSUMER_RUNNING_INFO, {"consumerGroup": "G"})
    table = bean["mqTable"]
    assert isinstance(table, dict)
    assert len(table) == 5  # and one of the retry topic
    assert [*bean] == [
        *("mqPopTable", "mqTable", "properties", "statusTable", "subscriptionSet"),
        "userConsumerInfo",
    ]


def asked(
    consumer: Consumer, code: RequestCode, ext: dict[str, str], body: bytes = b""
) -> dict[str, object]:
    request = Command(code, ext=ext, body=body)
    answer = consumer.client.run(consumer.client.instance.serve("broker", request))
    assert answer is not None
    assert answer.code == 0
    bean = javajson.loads(answer.body)
    assert isinstance(bean, dict)
    return {str(name): value for name, value in bean.items()}


def test_an_operator_has_a_message_consumed_directly() -> None:
    cluster = Cluster()
    cluster.store("a")
    consumer = Consumer(cluster, "me@1").start()
    (stored,) = cluster.broker.records("T", 0)
    ext = {"consumerGroup": "G", "clientId": "me@1", "brokerName": "broker-a"}
    body = record.encode(stored)
    bean = asked(consumer, RequestCode.CONSUME_MESSAGE_DIRECTLY, ext, body)
    assert bean["consumeResult"] == "CR_SUCCESS"
    assert consumer.bodies == ["a", "a"]
    consumer.outcome = lambda _: LATER
    bean = asked(consumer, RequestCode.CONSUME_MESSAGE_DIRECTLY, ext, body)
    assert bean["consumeResult"] == "CR_LATER"
