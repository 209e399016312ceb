"""Sends a hundred messages with delay level 3: consumers get them after ten seconds.

Run:  python examples/09_delay_level.py    while `gantry standalone` runs

The broker defines the levels (messageDelayLevel): 1s 5s 10s 30s 1m 2m … 10m 20m 30m 1h 2h. Brokers
from 4.x on have them. For other delays see 10_delay_and_recall.py.

Prints:
    sent 100 messages at delay level 3
    received 100 messages, none before its 10 seconds were over
"""

import asyncio
import os

from gantrymq.client import ConsumeFrom, Message, Producer, PushConsumer, ReceivedMessage

NAME_SERVERS = os.environ.get("NAMESRV_ADDR", "127.0.0.1:9876")
COUNT = 100


async def main() -> None:
    async with Producer("schedulers", name_servers=NAME_SERVERS) as producer:
        for number in range(COUNT):
            await producer.send(Message("scheduled", f"message {number}", delay_level=3))
    print(f"sent {COUNT} messages at delay level 3")

    waited_ms: list[int] = []
    done = asyncio.Event()

    def listener(messages: list[ReceivedMessage]) -> None:
        waited_ms.extend(message.stored_ms - message.born_ms for message in messages)
        if len(waited_ms) == COUNT:
            done.set()

    consumer = PushConsumer(
        "punctual", name_servers=NAME_SERVERS, consume_from=ConsumeFrom.FIRST_OFFSET
    )
    consumer.subscribe("scheduled", "*", listener)
    async with consumer:
        await done.wait()
    verdict = "none before its" if min(waited_ms) >= 10_000 else "some before their"
    print(f"received {COUNT} messages, {verdict} 10 seconds were over")


asyncio.run(main())
