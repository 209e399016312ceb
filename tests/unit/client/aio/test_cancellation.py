"""Tests that a cancellation at any await leaves no task, socket or buffered message behind."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any

import pytest

from gantrymq.client.aio.admin import Admin
from gantrymq.client.aio.machinery.environment import Link, Links
from gantrymq.client.aio.pop_consumer import PopConsumer
from gantrymq.client.aio.producer import Producer
from gantrymq.client.aio.pull_consumer import PullConsumer
from gantrymq.client.aio.push_consumer import PushConsumer
from gantrymq.client.aio.transaction_producer import TransactionProducer
from gantrymq.client.core.group.start_offset import ConsumeFrom
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.producer.transactions import TransactionState
from gantrymq.client.core.send.selecting import by_key
from gantrymq.testing.embedded import EmbeddedBroker
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.command import Command

AWAITS_MAX = 1_000


class CancelledAt:
    """Runs a coroutine, and cancels its task where it waits for the n-th time."""

    def __init__(self, work: Coroutine[Any, Any, object], place: int) -> None:
        self._work = work
        self._left = place
        self.is_cancelled = False

    # Any: what is yielded is between the awaited future and its loop.
    def __await__(self) -> Generator[Any, Any, object]:
        running = self._work.__await__()
        result: Any = None
        error: BaseException | None = None
        while True:
            try:
                waits_for = running.send(result) if error is None else running.throw(error)
            except StopIteration as stop:
                return stop.value
            if self._left == 0:
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
                self.is_cancelled = True
            self._left -= 1
            error = None
            try:
                result = yield waits_for
            except BaseException as thrown:
                error = thrown


class SlowLinks:
    """There is something to wait for before each request, and before its answer is there."""

    def __init__(self, links: Links, broker: EmbeddedBroker) -> None:
        self._links = links
        self._broker = broker

    def connection(self, address: str) -> SlowLink:
        return SlowLink(self._links.connection(address), self._broker)

    async def close(self) -> None:
        await asyncio.sleep(0)
        await self._links.close()


class SlowLink:
    def __init__(self, link: Link, broker: EmbeddedBroker) -> None:
        self._link = link
        self._broker = broker

    async def request(self, command: Command, timeout_s: float) -> Command:
        await self._broker.sleep(0.001)
        answer = await self._link.request(command, timeout_s)
        await self._broker.sleep(0.001)
        return answer

    async def notify(self, command: Command) -> None:
        await self._broker.sleep(0.001)
        await self._link.notify(command)


class Traces:
    """What is there that a client may leave behind."""

    def __init__(self, broker: EmbeddedBroker) -> None:
        self._broker = broker
        self._links: list[Any] = []
        make = broker.links

        def links(*arguments: Any) -> Any:
            made = make(*arguments)
            self._links.append(made)
            return SlowLinks(made, broker)

        broker.links = links  # type: ignore[method-assign,assignment]  # as above

    @property
    def tasks(self) -> int:
        return len(asyncio.all_tasks())

    @property
    def connections(self) -> int:
        open_links = [link for made in self._links for link in made._links.values()]
        return sum(not link.is_closing for link in open_links)

    @property
    def requests(self) -> int:
        return sum(len(link._waiting) for made in self._links for link in made._links.values())

    @property
    def alarms(self) -> int:
        alarms = self._broker.timeline._alarms
        return sum(alarm.action is not None for alarm in alarms)

    def all(self) -> tuple[int, int, int, int]:
        return self.tasks, self.connections, self.requests, self.alarms


Scene = Callable[[EmbeddedBroker], Coroutine[Any, Any, object]]


async def producing(broker: EmbeddedBroker) -> None:
    async with Producer("G", environment=broker, name_servers=broker.name_servers) as producer:
        await producer.send(Message("T", b"x"))
        await producer.send(Message("T", b"x"), select=by_key, key=1)
        await producer.send_oneway(Message("T", b"x"))
        await producer.send_batch([Message("T", b"x")] * 2)
        sendings = [producer.send_async(Message("T", b"x"), select=by_key, key=n) for n in range(3)]
        for sending in sendings:
            await sending
        producer.send_async(Message("U", b"x"), select=by_key, key=1)


async def traced(broker: EmbeddedBroker) -> None:
    names = broker.name_servers
    async with Producer("G", environment=broker, name_servers=names, trace=True) as producer:
        await producer.send(Message("T", b"x"))


async def in_transaction(broker: EmbeddedBroker) -> None:
    async def work(*_: object) -> TransactionState:
        await broker.sleep(1.0)
        return TransactionState.COMMIT

    async with TransactionProducer(
        "G", check=work, environment=broker, name_servers=broker.name_servers
    ) as producer:
        await producer.send_in_transaction(Message("T", b"x"), work)


async def to_no_consumer(broker: EmbeddedBroker) -> None:
    async with Producer("G", environment=broker, name_servers=broker.name_servers) as producer:
        await producer.queues("T")
        with broker.unreachable():
            producer.send_async(Message("T", b"x"))
            with pytest.raises(Exception, match="no server listens"):
                await producer.send(Message("T", b"x"))


def pushing(*, orderly: bool) -> Scene:
    async def scene(broker: EmbeddedBroker) -> None:
        consumed = asyncio.Event()

        async def listen(messages: list[object]) -> None:
            await broker.sleep(0.5)
            consumed.set()

        consumer = PushConsumer(
            "G",
            environment=broker,
            name_servers=broker.name_servers,
            orderly=orderly,
            consume_from=ConsumeFrom.FIRST_OFFSET,
            consume_threads=2,
        )
        consumer.subscribe("T", "*", listen)  # type: ignore[arg-type]  # it looks at none
        async with consumer:
            await consumed.wait()

    return scene


async def polling(broker: EmbeddedBroker) -> None:
    async with PullConsumer(
        "G",
        environment=broker,
        name_servers=broker.name_servers,
        consume_from=ConsumeFrom.FIRST_OFFSET,
    ) as consumer:
        await consumer.assign([MessageQueue("T", "broker-a", n) for n in range(4)])
        await consumer.poll(2.0)
        await consumer.commit()
        for queue in consumer.assignment:
            await consumer.seek_to_begin(queue)
        async for _ in consumer:
            break


async def popping(broker: EmbeddedBroker) -> None:
    consumer = PopConsumer(
        "G", environment=broker, name_servers=broker.name_servers, from_first=True, retry_s=0.0
    )
    consumer.subscribe("T")
    async with consumer:
        message = await consumer.receive()
        assert message is not None
        async with message:
            await broker.sleep(0.1)


async def administering(broker: EmbeddedBroker) -> None:
    async with Admin(environment=broker, name_servers=broker.name_servers) as admin:
        await admin.topics.names()
        await admin.topics.stats("T")


async def cancelled_at(scene: Scene, place: int) -> bool:
    """Whether there was such a place."""
    broker = EmbeddedBroker()
    broker.create_topic("T")
    await broker.run(stored(broker))
    traces = Traces(broker)
    before = traces.all()
    work = CancelledAt(scene(broker), place)
    try:
        await broker.run(_awaited(work), seconds_max=600.0)
    except asyncio.CancelledError:
        assert work.is_cancelled, "another caller cancelled it"
    await broker.settle()
    assert traces.all() == before, f"left behind when it is cancelled at await {place}"
    return work.is_cancelled


async def _awaited(work: Awaitable[object]) -> object:
    return await work


async def stored(broker: EmbeddedBroker) -> None:
    async with Producer("S", environment=broker, name_servers=broker.name_servers) as producer:
        await producer.send_batch([Message("T", b"x")] * 4)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "scene",
    [
        producing,
        traced,
        in_transaction,
        to_no_consumer,
        pushing(orderly=False),
        pushing(orderly=True),
        polling,
        popping,
        administering,
    ],
)
async def test_cancellation_at_every_await_leaves_nothing_behind(scene: Scene) -> None:
    for place in range(AWAITS_MAX):
        if not await cancelled_at(scene, place):
            assert place > 5, "it never waited"
            gc.collect()  # what was never awaited is told now
            return
    raise AssertionError("it waits too often for a test")
