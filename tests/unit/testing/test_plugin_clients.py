"""Tests producers and consumers on the plugin's broker, where hours pass in a moment."""

from __future__ import annotations

import os
from typing import Any

import pytest

from gantrymq.client import (
    LATER,
    Later,
    Message,
    Producer,
    PushConsumer,
    ReceivedMessage,
    TransactionProducer,
    TransactionState,
)
from gantrymq.client.core.instance.settings import ClientSettings
from gantrymq.testing.embedded import EmbeddedBroker
from gantrymq.testing.plugin import MakeTopic


# Any: the keywords of several classes.
def client_keywords(broker: EmbeddedBroker) -> dict[str, Any]:
    return {"environment": broker, "name_servers": broker.name_servers}


async def test_a_delay_of_two_hours(gantry_broker: EmbeddedBroker) -> None:
    heard: list[tuple[float, bytes]] = []

    def listen(messages: list[ReceivedMessage]) -> None:
        heard.extend((gantry_broker.now, message.body) for message in messages)

    consumer = PushConsumer("readers", **client_keywords(gantry_broker))
    consumer.subscribe("orders", "*", listen)
    async with Producer("writers", **client_keywords(gantry_broker)) as producer, consumer:
        await producer.send(Message("orders", b"by level", delay_level=18))
        await producer.send(Message("orders", b"by timer", delay_s=7_200))
        await gantry_broker.advance(hours=1, minutes=59)
        assert heard == []
        await gantry_broker.advance(minutes=2)
        assert {body for _, body in heard} == {b"by level", b"by timer"}
        assert all(7_200.0 <= moment <= 7_201.0 for moment, _ in heard)
        await gantry_broker.expect_consumed("readers", "orders")


async def test_open_transaction_is_checked(gantry_broker: EmbeddedBroker) -> None:
    asked: list[float] = []

    def check(message: ReceivedMessage) -> TransactionState:
        assert message.body == b"paid"
        asked.append(gantry_broker.now)
        return TransactionState.COMMIT if len(asked) == 2 else TransactionState.UNKNOWN

    def local(message: Message, argument: object) -> TransactionState:
        del message, argument
        return TransactionState.UNKNOWN

    async with TransactionProducer(
        "payers", check=check, **client_keywords(gantry_broker)
    ) as producer:
        await producer.send_in_transaction(Message("orders", b"paid"), local)
        await gantry_broker.expect("orders", [])
        await gantry_broker.expect("orders", [b"paid"], within_s=300)
        assert len(asked) == 2


async def test_message_that_always_fails_becomes_a_dead_letter(
    gantry_broker: EmbeddedBroker, gantry_topic: MakeTopic
) -> None:
    tries: list[tuple[float, int]] = []

    def refuse(messages: list[ReceivedMessage]) -> Later:
        tries.extend((gantry_broker.now, message.reconsume_times) for message in messages)
        return LATER

    topic = gantry_topic(queues=1)
    consumer = PushConsumer("readers", max_reconsume_times=3, **client_keywords(gantry_broker))
    consumer.subscribe(topic, "*", refuse)
    async with Producer("writers", **client_keywords(gantry_broker)) as producer, consumer:
        await producer.send(Message(topic, b"poison"))
        await gantry_broker.expect_dead_letters("readers", [b"poison"], within_s=600)
    assert tries == [(0.0, 0), (10.0, 1), (40.0, 2), (100.0, 3)]


async def test_broadcast_offsets_are_kept_in_the_environment(gantry_broker: EmbeddedBroker) -> None:
    consumer = PushConsumer("readers", broadcasting=True, **client_keywords(gantry_broker))
    consumer.subscribe("orders", "*", lambda _: None)
    async with Producer("writers", **client_keywords(gantry_broker)) as producer:
        await producer.send(Message("orders", b"makes the topic"))
        async with consumer:
            await producer.send(Message("orders", b"a"))
            await gantry_broker.advance(seconds=10)
    assert gantry_broker.files
    assert not any(map(os.path.exists, gantry_broker.files)), "of the machine it wrote none"


async def history(broker: EmbeddedBroker) -> list[tuple[float, bytes, int, int]]:
    """The received messages, with their times and queues."""
    heard: list[tuple[float, bytes, int, int]] = []

    def listen(messages: list[ReceivedMessage]) -> None:
        heard.extend((broker.now, m.body, m.queue.queue_id, m.offset) for m in messages)

    consumer = PushConsumer("readers", **client_keywords(broker))
    consumer.subscribe("orders", "*", listen)
    async with Producer("writers", **client_keywords(broker)) as producer, consumer:
        for number in range(20):
            await producer.send(Message("orders", b"%d" % number, delay_level=number % 4))
        await broker.advance(minutes=5)
    return heard


async def test_every_run_is_the_same() -> None:
    first, second = await history(EmbeddedBroker()), await history(EmbeddedBroker())
    assert len(first) == 20
    assert first == second


async def test_consumer_started_before_its_topic_gets_it_at_the_next_rebalance(
    gantry_broker: EmbeddedBroker, caplog: pytest.LogCaptureFixture
) -> None:
    """The broker of a new topic learns of the group before a client asks for its members."""
    settings = ClientSettings()
    bodies: list[bytes] = []
    consumer = PushConsumer("readers", **client_keywords(gantry_broker))
    consumer.subscribe("new", "*", lambda messages: bodies.extend(m.body for m in messages))
    async with consumer, Producer("writers", **client_keywords(gantry_broker)) as producer:
        await gantry_broker.advance(1)
        await producer.send(Message("new", b"first"))
        await gantry_broker.advance(settings.rebalance_s)
        assert bodies == [b"first"]
        assert settings.rebalance_s < settings.heartbeat_s, "no beat was due yet"
    assert "no consumer for this group" not in caplog.text
