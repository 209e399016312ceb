"""Filters messages by tag, and finds a message by its key.

Run:  python examples/04_tags_and_keys.py    while `gantry standalone` runs

Each message has at most one tag and any number of keys. `gantry queryMsgByKey -t shop -k 4711`
finds the same message from a shell.

Prints:
    billing got: 4711 paid
    billing got: 4713 refunded
    by its key 4712: 4712 shipped
"""

import asyncio
import os

from gantrymq.client import Admin, ConsumeFrom, Message, Producer, PullConsumer

NAME_SERVERS = os.environ.get("NAMESRV_ADDR", "127.0.0.1:9876")
ORDERS = {"4711": "paid", "4712": "shipped", "4713": "refunded"}


async def main() -> None:
    async with Producer("shop", name_servers=NAME_SERVERS) as producer:
        for number, event in ORDERS.items():
            message = Message("shop", f"{number} {event}", tag=event, keys=[number])
            await producer.send(message)

    billed = []
    async with PullConsumer(
        "billing", name_servers=NAME_SERVERS, consume_from=ConsumeFrom.FIRST_OFFSET
    ) as consumer:
        consumer.subscribe("shop", "paid || refunded")
        async for received in consumer:
            billed.append(received.body.decode())
            if len(billed) == 2:
                break
    for text in sorted(billed):
        print("billing got:", text)

    async with Admin(name_servers=NAME_SERVERS) as admin:
        found = await admin.messages.by_key("shop", "4712")
        print("by its key 4712:", found[-1].body.decode())


asyncio.run(main())
