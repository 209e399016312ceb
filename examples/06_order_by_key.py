"""Keeps messages with the same key in order, by sending them to the same queue.

Run:  python examples/06_order_by_key.py    while `gantry standalone` runs

`by_key` chooses the same queue as Java's SelectMessageQueueByHash. You can write your own selector:
`lambda queues, message, key: queues[...]`. An orderly consumer consumes the messages of a queue one
after the other, and locks the queue against other members of the group.

Prints:
    order 101: created, paid, shipped
    order 102: created, paid, shipped
    order 103: created, paid, shipped
"""

import asyncio
import os
from collections import defaultdict

from gantrymq.client import ConsumeFrom, Message, Producer, PushConsumer, ReceivedMessage, by_key

NAME_SERVERS = os.environ.get("NAMESRV_ADDR", "127.0.0.1:9876")
ORDERS = ["101", "102", "103"]
STEPS = ["created", "paid", "shipped"]


async def main() -> None:
    async with Producer("order-desk", name_servers=NAME_SERVERS) as producer:
        for step in STEPS:
            for order in ORDERS:
                message = Message("order-steps", step, keys=[order])
                await producer.send(message, select=by_key, key=order)

    seen: dict[str, list[str]] = defaultdict(list)
    done = asyncio.Event()

    def listener(messages: list[ReceivedMessage]) -> None:
        for message in messages:
            seen[message.keys[0]].append(message.body.decode())
        if sum(map(len, seen.values())) == len(ORDERS) * len(STEPS):
            done.set()

    consumer = PushConsumer(
        "order-tracker",
        name_servers=NAME_SERVERS,
        consume_from=ConsumeFrom.FIRST_OFFSET,
        orderly=True,
    )
    consumer.subscribe("order-steps", "*", listener)
    async with consumer:
        await done.wait()
    for order in ORDERS:
        print(f"order {order}: {', '.join(seen[order])}")


asyncio.run(main())
