"""Separates the tenants of one cluster by namespaces, in which they use the same names.

Run:  python examples/22_namespaces.py    while `gantry standalone` runs

Only clients know namespaces. The topic `orders` of the namespace `blue` is `blue%orders` for
brokers and `gantry`, and `orders` for clients with namespace="blue".

Prints:
    blue: received from orders: two blue cups
    green: received from orders: one green cup
    the cluster's topics: blue%orders, green%orders
"""

import asyncio
import os

from gantrymq.client import Admin, ConsumeFrom, Message, Producer, PullConsumer

NAME_SERVERS = os.environ.get("NAMESRV_ADDR", "127.0.0.1:9876")


async def trade(namespace: str, order: str) -> None:
    async with Producer("shop", name_servers=NAME_SERVERS, namespace=namespace) as producer:
        await producer.send(Message("orders", order))
    async with PullConsumer(
        "warehouse",
        name_servers=NAME_SERVERS,
        namespace=namespace,
        consume_from=ConsumeFrom.FIRST_OFFSET,
    ) as consumer:
        consumer.subscribe("orders")
        async for message in consumer:
            print(f"{namespace}: received from {message.topic}: {message.body.decode()}")
            break


async def main() -> None:
    await trade("blue", "two blue cups")
    await trade("green", "one green cup")
    async with Admin(name_servers=NAME_SERVERS) as admin:
        topics = sorted(name for name in await admin.topics.names() if name.endswith("%orders"))
        print("the cluster's topics:", ", ".join(topics))


asyncio.run(main())
