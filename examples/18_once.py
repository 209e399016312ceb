"""Wraps a listener by `once`, so that it processes each message only once.

Run:  python examples/18_once.py    while `gantry standalone` runs

Brokers deliver messages at least once. After a crash, or when members join or leave a group, a
message may be delivered twice, and a producer that retries may send it twice. `once` stores in a
database which messages were processed, by their keys here, by their ids by default. The docstring
of gantrymq.client.once says what it cannot guarantee.

Prints:
    charged: order 1
    charged: order 2
    4 messages came, 2 orders were charged
"""

import asyncio
import os
from pathlib import Path
from tempfile import TemporaryDirectory

from gantrymq.client import ConsumeFrom, Message, Producer, PushConsumer, ReceivedMessage, by_key
from gantrymq.client.once import SqlStore, by_keys, once

NAME_SERVERS = os.environ.get("NAMESRV_ADDR", "127.0.0.1:9876")
ORDERS = ["1", "1", "2", "1"]


async def main(folder: str) -> None:
    async with Producer("checkout", name_servers=NAME_SERVERS) as producer:
        for order in ORDERS:
            message = Message("charges", f"order {order}", keys=[order])
            await producer.send(message, select=by_key, key="one queue")

    store = SqlStore.at(str(Path(folder) / "seen.db"))
    charged = []

    @once(store, key=by_keys)
    async def charge(messages: list[ReceivedMessage]) -> None:
        for message in messages:
            charged.append(message.body)
            print("charged:", message.body.decode())

    consumer = PushConsumer(
        "card-payments",
        name_servers=NAME_SERVERS,
        consume_from=ConsumeFrom.FIRST_OFFSET,
        orderly=True,
    )
    consumer.subscribe("charges", "*", charge)
    async with consumer:
        while consumer.stats.consumed < len(ORDERS):
            await asyncio.sleep(0.1)
    print(f"{consumer.stats.consumed} messages came, {len(charged)} orders were charged")
    store.close()


with TemporaryDirectory() as folder:
    asyncio.run(main(folder))
