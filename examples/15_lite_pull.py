"""Reads assigned queues, like Java's DefaultLitePullConsumer: assign, seek, pause.

Run:  python examples/15_lite_pull.py    while `gantry standalone` runs

`assign` reads these queues even if other consumers read them; `subscribe` shares them with the
group.

Prints:
    read: 1 2 3 4 5
    from the third on again: 3 4 5
    paused: nothing
    resumed: 6
"""

import asyncio
import os

from gantrymq.client import Message, Producer, PullConsumer

NAME_SERVERS = os.environ.get("NAMESRV_ADDR", "127.0.0.1:9876")


async def read(consumer: PullConsumer, count: int) -> str:
    bodies: list[str] = []
    while len(bodies) < count:
        bodies += [message.body.decode() for message in await consumer.poll()]
    return " ".join(bodies)


async def main() -> None:
    async with (
        Producer("counters", name_servers=NAME_SERVERS) as producer,
        PullConsumer("readers-by-hand", name_servers=NAME_SERVERS) as consumer,
    ):
        first = await producer.send(Message("numbers", "1"))
        queue = first.queue
        for number in 2, 3, 4, 5:
            await producer.send(Message("numbers", str(number)), queue=queue)

        await consumer.assign([queue])
        await consumer.seek(queue, first.queue_offset)
        print("read:", await read(consumer, 5))

        await consumer.seek(queue, first.queue_offset + 2)
        print("from the third on again:", await read(consumer, 3))

        consumer.pause([queue])
        await producer.send(Message("numbers", "6"), queue=queue)
        print("paused:", await consumer.poll(timeout_s=0.5) or "nothing")

        consumer.resume([queue])
        print("resumed:", await read(consumer, 1))


asyncio.run(main())
