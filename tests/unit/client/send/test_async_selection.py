"""Tests messages of `send_async` whose queue a selector chooses."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gantrymq.base.errors import RemoteError
from gantrymq.client.core.errors import MessageError, SendError
from gantrymq.client.core.instance.settings import ClientSettings
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.producer.producer import ProducerCore
from gantrymq.client.core.send.producer_batch import Batch
from gantrymq.client.core.send.producer_settings import ProducerSettings
from gantrymq.client.core.send.selecting import by_key
from gantrymq.fakes.brokers.cluster import NAME_SERVER, Cluster, gone
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command


def started(cluster: Cluster) -> ProducerCore:
    core = ProducerCore(cluster.instance, "G", ProducerSettings())
    cluster.run(core.start())
    return core


def test_messages_of_a_key_stay_in_order_from_the_first_one_on() -> None:
    cluster = Cluster("a")
    core = started(cluster)
    batches: list[Batch] = []
    for n in range(40):
        batches.append(core.send_async(Message("T", b"%d" % n), select=by_key, key=n % 4))
        if n == 9:
            assert len(cluster.asked_of(RequestCode.SEND_MESSAGE_V2)) == 0  # no route yet
            cluster.driver.settle()
    cluster.run(core.accumulator.flush())
    stored = {n: cluster.broker.bodies("T", n) for n in range(4)}
    assert stored == {n: [b"%d" % m for m in range(n, 40, 4)] for n in range(4)}
    assert len(cluster.asked_of(RequestCode.SEND_BATCH_MESSAGE)) <= 8
    assert core.accumulator.waiting_bytes == 0


def test_a_selector_sees_users_names() -> None:
    cluster = Cluster(topics={"ns%T": 2})
    cluster.client(settings=ClientSettings(namespace="ns"))
    core = started(cluster)
    seen: list[MessageQueue] = []

    def first(queues: Sequence[MessageQueue], message: Message, key: object) -> MessageQueue:
        seen.append(queues[0])
        return queues[0]

    core.send_async(Message("T", b"x"), select=first)
    cluster.pass_time(1.0)
    batch = core.send_async(Message("T", b"x"), select=first)
    cluster.pass_time(1.0)
    assert {queue.topic for queue in seen} == {"T"}
    assert batch.result_of(0).queue == MessageQueue("T", "broker-a", 0)
    assert len(cluster.broker.bodies("ns%T", 0)) == 2


def test_an_error_of_a_selector_fails_only_its_message() -> None:
    cluster = Cluster()
    core = started(cluster)

    def fail(queues: Sequence[MessageQueue], message: Message, key: object) -> MessageQueue:
        raise ValueError(key)

    batch = core.send_async(Message("T", b"x"), select=fail, key="k")
    good = core.send_async(Message("T", b"x"), select=by_key, key="k")
    cluster.pass_time(1.0)
    with pytest.raises(SendError, match="k"):
        batch.result_of(0)
    assert good.result_of(0).message_id
    with pytest.raises(ValueError, match="k"):
        core.send_async(Message("T", b"x"), select=fail, key="k")
    assert core.accumulator.waiting_bytes == 0


def test_without_a_route_all_of_them_fail() -> None:
    cluster = Cluster()
    core = started(cluster)
    cluster.faults[NAME_SERVER] = gone
    batches = [core.send_async(Message("T", b"x"), select=by_key, key=n) for n in range(3)]
    cluster.run(core.accumulator.flush())
    for batch in batches:
        with pytest.raises(SendError, match="connect to name servers failed"):
            batch.result_of(0)
    assert core.accumulator.waiting_bytes == 0


def test_an_invalid_name_server_response_is_reported() -> None:
    cluster = Cluster()
    core = started(cluster)
    cluster.faults[NAME_SERVER] = lambda address, command: Command(0, body=b"[")
    batch = core.send_async(Message("T", b"x"), select=by_key, key=1)
    cluster.run(core.accumulator.flush())
    with pytest.raises(SendError) as failure:
        batch.result_of(0)
    assert "closed" not in str(failure.value)
    assert isinstance(failure.value.causes[0], RemoteError)


async def later(queues: Sequence[MessageQueue], message: Message, key: object) -> MessageQueue:
    del message, key
    return queues[0]


def test_contradictory_arguments_are_refused() -> None:
    cluster = Cluster()
    core = started(cluster)
    cluster.run(cluster.instance.route("T"))
    message = Message("T", b"x")
    with pytest.raises(MessageError, match="Give a plain function"):
        core.send_async(message, select=later)
    with pytest.raises(MessageError, match="not both"):
        core.send_async(message, MessageQueue("T", "broker-a", 0), by_key, 1)
    with pytest.raises(MessageError, match="a key is for a selector"):
        core.send_async(message, key=1)
