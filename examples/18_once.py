"""`once`: a listener that is not called again for what it is done with.

Run:  python examples/18_once.py    while `gantry standalone` runs

Brokers deliver at least once: after a crash, or when members of a group come and go, a message may
come twice, and a sender that tries again may send it twice. `once` remembers in a database what was
done, here by the messages' keys; by default by their ids. What it cannot promise stands in the
docstring of gantrymq.client.once.

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
