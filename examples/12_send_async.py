"""Sends messages in the fastest way: they are collected for milliseconds and sent as batches.

Run:  python examples/12_send_async.py    while `gantry standalone` runs

`send_async` accepts a message at once and returns an awaitable, which gives the result. When too
many bytes wait for acknowledgements it raises WaitingFullError; then `await producer.room()`.

Prints:
    accepted: 10000 messages
    acknowledged: 10000 messages, each with an id and an offset of its own
"""

import asyncio
import os

from gantrymq.client import Message, Producer, SendStatus

NAME_SERVERS = os.environ.get("NAMESRV_ADDR", "127.0.0.1:9876")


async def main() -> None:
    async with Producer("fire-hose", name_servers=NAME_SERVERS) as producer:
        sendings = []
        for number in range(10_000):
            if number % 1000 == 0:
                await producer.room()
            sendings.append(producer.send_async(Message("drops", f"drop {number}")))
        print(f"accepted: {len(sendings)} messages")

        results = [await sending for sending in sendings]
    assert all(result.status is SendStatus.SEND_OK for result in results)
    ids = {result.message_id for result in results}
    places = {(result.queue, result.queue_offset) for result in results}
    assert len(ids) == len(places) == len(results)
    print(f"acknowledged: {len(results)} messages, each with an id and an offset of its own")


asyncio.run(main())
