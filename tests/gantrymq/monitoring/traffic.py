"""Runs the clients of a cluster, one process for each role.

    python -m gantrymq.monitoring.traffic ROLE NAMESRV [TOPIC]

steady      producers of every kind of message, and consumers that keep up; until it is stopped
failing     consumers that fail, hang and contradict each other, and a transaction that is never
            ended; until it is stopped
mending     consumers that take the messages that the failing ones left, and the producer that ends
            the transaction; until it is stopped
offline     consumes one message for a group, and ends
ballast     sends 72 MiB, and ends
sending     many producers that send to `orders` at the same time; until it is stopped
heavy       sends messages of nearly 4 MiB, 72 at the same time; until it is stopped
flood       sends more to TOPIC, or `orders`, than is taken; until it is stopped
draining    takes everything that waits for the group of `offline`; until it is stopped
many        sends a message to each of 64 topics, and ends
filling     sends messages of a MiB, and some that are due in 2 s, until refused, and ends
timers      sends messages that are due in a minute and 12 MiB behind them, and ends
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from typing import Final

from gantrymq.base.errors import GantryError
from gantrymq.client import (
    SUCCESS,
    ConsumeFrom,
    Later,
    Message,
    Outcome,
    PopConsumer,
    Producer,
    PullConsumer,
    PushConsumer,
    ReceivedMessage,
    TransactionProducer,
    TransactionState,
)

TOPICS: Final = ("orders", "invoices", "parcels", "jobs", "sloppy-jobs", "mixed", "ballast")
PAUSE_SECONDS: Final = 0.2
BALLAST_MESSAGES: Final = 72
BALLAST_BYTES: Final = 1 << 20
SENDERS: Final = 40
# 72 messages are more than the 256 MiB that a broker holds, and 12 are less than the 64 MiB that a
# connection may have in flight.
HEAVY_BYTES: Final = (4 << 20) - 1024
HEAVY_PRODUCERS: Final = 6
HEAVY_SENDS: Final = 12
# A batch of 250 messages takes 50 KiB, and so fits into the smallest log file of the tests, 64 KiB.
FLOOD_BATCH: Final = 250
FLOOD_BATCHES: Final = 4
MANY_TOPICS: Final = 64
TIMERS: Final = 5
TIMER_SECONDS: Final = 60.0
TIMER_BALLAST: Final = 12
SOON_SECONDS: Final = 2.0

VERDICTS: Final[Mapping[bytes, TransactionState]] = {
    b"pay": TransactionState.COMMIT,
    b"cancel": TransactionState.ROLLBACK,
    b"forget": TransactionState.UNKNOWN,
}


def take(messages: list[ReceivedMessage]) -> Outcome:
    del messages
    return SUCCESS


def fail(messages: list[ReceivedMessage]) -> Outcome:
    del messages
    return Later(level=1)


def decide(message: Message, argument: object) -> TransactionState:
    del argument
    return VERDICTS[message.body]


def commit(message: ReceivedMessage) -> TransactionState:
    del message
    return TransactionState.COMMIT


def unknown(message: ReceivedMessage) -> TransactionState:
    del message
    return TransactionState.UNKNOWN


async def steady(name_servers: str) -> None:
    async with AsyncExitStack() as stack:
        producer = await stack.enter_async_context(Producer("shop", name_servers=name_servers))
        payer = TransactionProducer("payers", check=commit, name_servers=name_servers)
        await stack.enter_async_context(payer)
        consumer = PushConsumer("billing", name_servers=name_servers)
        for topic in ("orders", "invoices"):
            consumer.subscribe(topic, "*", take)
        await stack.enter_async_context(consumer)
        popper = PopConsumer("workers", name_servers=name_servers, from_first=True)
        popper.subscribe("jobs")
        await stack.enter_async_context(popper)
        acknowledging = asyncio.create_task(_acknowledge(popper))
        try:
            while True:
                with suppress(GantryError):  # a test may have killed the master
                    await _send_some(producer, payer)
                await asyncio.sleep(PAUSE_SECONDS)
        finally:
            acknowledging.cancel()


async def _send_some(producer: Producer, payer: TransactionProducer) -> None:
    for topic in ("orders", "parcels", "jobs", "sloppy-jobs", "mixed"):
        await producer.send_batch([Message(topic, b"x" * 200, tag="paid") for _ in range(2)])
    await producer.send(Message("orders", b"in a while", delay_level=1))
    await producer.send(Message("orders", b"at that time", delay_s=1.5))
    for body in (b"pay", b"cancel"):
        await payer.send_in_transaction(Message("invoices", body), decide)


async def _acknowledge(popper: PopConsumer) -> None:
    async for popped in popper:
        await popped.ack()


async def failing(name_servers: str) -> None:
    async with AsyncExitStack() as stack:
        forgetful = TransactionProducer("forgetful", check=unknown, name_servers=name_servers)
        await stack.enter_async_context(forgetful)
        await forgetful.send_in_transaction(Message("invoices", b"forget"), decide)
        couriers = _pushing("couriers", name_servers, "parcels", fail)
        for number, expression in enumerate(("paid", "open")):
            conflicting = _pushing("mixed-group", name_servers, "mixed", take, expression, number)
            await stack.enter_async_context(conflicting)
        await stack.enter_async_context(couriers)
        # The first group's messages become visible again while this runs. Those of the second stay
        # invisible for longer than the alert allows.
        for group, invisible_s in (("sloppy", 10.0), ("hanging", 30.0)):
            popper = PopConsumer(
                group, name_servers=name_servers, from_first=True, invisible_s=invisible_s, count=1
            )
            popper.subscribe("sloppy-jobs")
            await stack.enter_async_context(popper)
            stack.callback(asyncio.create_task(_take_and_forget(popper)).cancel)
        await asyncio.Event().wait()


async def _take_and_forget(popper: PopConsumer) -> None:
    async for popped in popper:
        popped.is_settled = True  # and never acknowledged


def _pushing(
    group: str,
    name_servers: str,
    topic: str,
    listener: Callable[[list[ReceivedMessage]], Outcome],
    expression: str = "*",
    number: int = 0,
) -> PushConsumer:
    consumer = PushConsumer(
        group,
        name_servers=name_servers,
        consume_from=ConsumeFrom.FIRST_OFFSET,
        max_reconsume_times=1,
        instance_name=f"instance-{number}",
    )
    consumer.subscribe(topic, expression, listener)
    return consumer


async def mending(name_servers: str) -> None:
    async with AsyncExitStack() as stack:
        producer = TransactionProducer("forgetful", check=commit, name_servers=name_servers)
        await stack.enter_async_context(producer)
        # A broker knows a producer, and asks it about transactions, once it has sent a message.
        await producer.send_in_transaction(Message("invoices", b"pay"), decide)
        for group, topic in (
            ("couriers", "parcels"),
            ("mixed-group", "mixed"),
            ("auditors", "orders"),
        ):
            await stack.enter_async_context(_pushing(group, name_servers, topic, take))
        for group in ("sloppy", "hanging"):
            popper = PopConsumer(group, name_servers=name_servers, from_first=True)
            popper.subscribe("sloppy-jobs")
            await stack.enter_async_context(popper)
            stack.callback(asyncio.create_task(_acknowledge(popper)).cancel)
        await asyncio.Event().wait()


async def offline(name_servers: str) -> None:
    async with PullConsumer(
        "auditors", name_servers=name_servers, consume_from=ConsumeFrom.FIRST_OFFSET
    ) as consumer:
        consumer.subscribe("orders")
        await anext(consumer)


async def ballast(name_servers: str) -> None:
    body = os.urandom(BALLAST_BYTES)  # or the producer would make it small
    async with Producer("weights", name_servers=name_servers) as producer:
        for _ in range(BALLAST_MESSAGES):
            await producer.send(Message("ballast", body))


async def sending(name_servers: str) -> None:
    async def send_on(producer: Producer) -> None:
        while True:
            with suppress(GantryError):  # a broker that is stopped, or has enough
                await producer.send(Message("orders", b"x" * 200))

    async with AsyncExitStack() as stack, asyncio.TaskGroup() as tasks:
        for number in range(SENDERS):
            # Each producer has a connection of its own: a broker limits the requests of one.
            producer = Producer(
                "shop",
                name_servers=name_servers,
                instance_name=f"instance-{number}",
            )
            tasks.create_task(send_on(await stack.enter_async_context(producer)))


async def heavy(name_servers: str) -> None:
    body = os.urandom(HEAVY_BYTES)

    async def send_on(producer: Producer) -> None:
        while True:
            with suppress(GantryError):  # the broker refuses, or the answer takes too long
                await producer.send(Message("orders", body))
            await asyncio.sleep(PAUSE_SECONDS)

    async with AsyncExitStack() as stack, asyncio.TaskGroup() as tasks:
        for number in range(HEAVY_PRODUCERS):
            producer = Producer(
                "weights",
                name_servers=name_servers,
                instance_name=f"instance-{number}",
                compress_over_bytes=HEAVY_BYTES * 2,
            )
            await stack.enter_async_context(producer)
            for _ in range(HEAVY_SENDS):
                tasks.create_task(send_on(producer))


async def flood(name_servers: str, topic: str = "orders") -> None:
    async with Producer("flood", name_servers=name_servers) as producer:
        while True:
            for _ in range(FLOOD_BATCHES):
                with suppress(GantryError):
                    await producer.send_batch([Message(topic, b"x") for _ in range(FLOOD_BATCH)])
            await asyncio.sleep(PAUSE_SECONDS)


async def draining(name_servers: str) -> None:
    consumer = _pushing("auditors", name_servers, "orders", take)
    async with consumer:
        await asyncio.Event().wait()


async def many(name_servers: str) -> None:
    async with Producer("many", name_servers=name_servers) as producer:
        for number in range(MANY_TOPICS):
            await producer.send(Message(f"many-{number}", b"x"))


async def filling(name_servers: str) -> None:
    body = os.urandom(BALLAST_BYTES)
    async with Producer("weights", name_servers=name_servers) as producer:
        with suppress(GantryError):
            while True:
                await producer.send(Message("ballast", body))
                await producer.send(Message("orders", b"soon", delay_s=SOON_SECONDS))


async def timers(name_servers: str) -> None:
    async with Producer("clock", name_servers=name_servers) as producer:
        for _ in range(TIMERS):
            await producer.send(Message("orders", b"at that time", delay_s=TIMER_SECONDS))
        for _ in range(TIMER_BALLAST):
            await producer.send(Message("ballast", os.urandom(BALLAST_BYTES)))


ROLES: Final[Mapping[str, Callable[..., Awaitable[None]]]] = {
    role.__name__: role
    for role in (
        *(steady, failing, mending, offline, ballast),
        *(sending, heavy, flood, draining, many, filling, timers),
    )
}


async def _run(role: str, name_servers: str, *more: str) -> None:
    await ROLES[role](name_servers, *more)


if __name__ == "__main__":
    asyncio.run(_run(*sys.argv[1:]))
