"""Tests that every call to an unreachable broker raises a ClientError."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from gantrymq.client import (
    Admin,
    ClientError,
    ConsumeFrom,
    Message,
    MessageQueue,
    PopConsumer,
    Producer,
    PullConsumer,
    PushConsumer,
    SendError,
    Sql,
    TransactionProducer,
    TransactionState,
    by_key,
)
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.testing.embedded import EmbeddedBroker

QUEUE = MessageQueue("T", "broker-a", 0)
MESSAGE = Message("T", b"x")


def check(message: ReceivedMessage) -> TransactionState:
    del message
    return TransactionState.UNKNOWN


SENDS: list[Callable[[Producer], Awaitable[object]]] = [
    lambda producer: producer.send(MESSAGE),
    lambda producer: producer.send(MESSAGE, queue=QUEUE),
    lambda producer: producer.send(MESSAGE, select=by_key, key="k"),
    lambda producer: producer.send_oneway(MESSAGE),
    lambda producer: producer.send_batch([MESSAGE]),
    lambda producer: producer.send_batch([MESSAGE], queue=QUEUE),
    lambda producer: producer.send_async(MESSAGE),
    lambda producer: producer.send_async(MESSAGE, queue=QUEUE),
    lambda producer: producer.request(MESSAGE),
]


@pytest.mark.parametrize("retries", [0, 2])
@pytest.mark.parametrize("send", SENDS)
async def test_no_send_is_acknowledged(
    send: Callable[[Producer], Awaitable[object]], retries: int
) -> None:
    world = EmbeddedBroker()
    async with Producer(
        "P", environment=world, name_servers=world.name_servers, retries=retries
    ) as producer:
        await producer.send(MESSAGE)
        with world.unreachable(), pytest.raises(SendError, match="cannot connect") as failed:
            await world.run(_awaited(send(producer)))
    assert failed.value.causes


async def _awaited(what: Awaitable[object]) -> object:
    return await what


async def test_transactions_and_recalls_fail() -> None:
    world = EmbeddedBroker()
    names = world.name_servers
    async with TransactionProducer(
        "P", check=check, environment=world, name_servers=names
    ) as producer:
        await producer.send(MESSAGE)
        with world.unreachable(), pytest.raises(SendError):
            await producer.send_in_transaction(MESSAGE, lambda *_: TransactionState.COMMIT)
    async with Producer("Q", environment=world, name_servers=names) as plain:
        late = await plain.send(Message("T", b"x", delay_s=60.0))
        with world.unreachable(), pytest.raises(ClientError):
            await plain.recall(late)


PULLS: list[Callable[[PullConsumer], Awaitable[object]]] = [
    lambda consumer: consumer.seek(QUEUE, 0),
    lambda consumer: consumer.seek_to_begin(QUEUE),
    lambda consumer: consumer.seek_to_end(QUEUE),
    lambda consumer: consumer.offset_for_timestamp(QUEUE, 0),
    lambda consumer: consumer.commit({QUEUE: 1}),
    lambda consumer: consumer.committed(MessageQueue("T", "broker-a", 1)),
    lambda consumer: consumer.fetch_message_queues("unknown"),
]


@pytest.mark.parametrize("ask", PULLS)
async def test_calls_of_a_pull_consumer_fail(
    ask: Callable[[PullConsumer], Awaitable[object]],
) -> None:
    world = EmbeddedBroker()
    world.create_topic("T")
    consumer = PullConsumer("G", environment=world, name_servers=world.name_servers)
    async with consumer:
        await consumer.assign([QUEUE])
        with world.unreachable():
            with pytest.raises(ClientError):
                await world.run(_awaited(ask(consumer)))
            assert await world.run(consumer.poll(1.0)) == []


async def test_calls_of_pop_and_push_consumers_fail() -> None:
    world = EmbeddedBroker()
    names = world.name_servers
    async with Producer("P", environment=world, name_servers=names) as producer:
        popping = PopConsumer("G", environment=world, name_servers=names, from_first=True)
        popping.subscribe("T")
        await producer.send(MESSAGE)
        async with popping:
            popped = await world.run(popping.receive())
            assert popped is not None
            with world.unreachable():
                for ask in (popped.ack, lambda: popped.keep(1.0)):
                    with pytest.raises(ClientError):
                        await world.run(_awaited(ask()))
            await popped.ack()
    pushed = PushConsumer(
        "H", environment=world, name_servers=names, consume_from=ConsumeFrom.FIRST_OFFSET
    )
    pushed.subscribe("T", Sql("a > 1"), lambda messages: None)
    with world.unreachable(), pytest.raises(ClientError):
        await world.run(pushed.start())


async def test_calls_of_an_administrator_fail() -> None:
    world = EmbeddedBroker()
    async with Admin(environment=world, name_servers=world.name_servers) as admin:
        with world.unreachable(), pytest.raises(ClientError):
            await world.run(admin.brokers.figures("127.0.0.1:10911"))
