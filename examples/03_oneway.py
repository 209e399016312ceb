"""Sends messages without waiting for a response, for data that may be lost, such as clicks.

Run:  python examples/03_oneway.py    while `gantry standalone` runs

Prints:
    sent three clicks, without waiting for an answer
    received: click 1
    received: click 2
    received: click 3
"""

import asyncio
import os

from gantrymq.client import ConsumeFrom, Message, Producer, PullConsumer

NAME_SERVERS = os.environ.get("NAMESRV_ADDR", "127.0.0.1:9876")


async def main() -> None:
    async with Producer("browsers", name_servers=NAME_SERVERS) as producer:
        for number in 1, 2, 3:
            await producer.send_oneway(Message("clicks", f"click {number}"))
    print("sent three clicks, without waiting for an answer")

    clicks = []
    async with PullConsumer(
        "statistics", name_servers=NAME_SERVERS, consume_from=ConsumeFrom.FIRST_OFFSET
    ) as consumer:
        consumer.subscribe("clicks")
        async for message in consumer:
            clicks.append(message.body.decode())
            if len(clicks) == 3:
                break
    for click in sorted(clicks):  # they were in different queues: no order between them
        print("received:", click)


asyncio.run(main())
