"""Sends many messages in one request, which a broker accepts or refuses as a whole.

Run:  python examples/11_batches.py    while `gantry standalone` runs

Requests have a maximum size, and `split` divides a list into parts below it (1 MiB by default). All
messages of a batch have the same topic, and none is delayed. `send_async` makes batches by itself:
see 12_send_async.py.

Prints:
    3 batches of 40, 40, 20 messages
    received 100 messages
"""

import asyncio
import os

from gantrymq.client import ConsumeFrom, Message, Producer, PullConsumer, split

NAME_SERVERS = os.environ.get("NAMESRV_ADDR", "127.0.0.1:9876")


async def main() -> None:
    messages = [Message("measurements", bytes(1000), keys=[str(number)]) for number in range(100)]
    sizes = []
    async with Producer("sensors", name_servers=NAME_SERVERS) as producer:
        for part in split(messages, bytes_max=42_000):
            await producer.send_batch(part)
            sizes.append(len(part))
    print(f"{len(sizes)} batches of {', '.join(map(str, sizes))} messages")

    count = 0
    async with PullConsumer(
        "archive", name_servers=NAME_SERVERS, consume_from=ConsumeFrom.FIRST_OFFSET
    ) as consumer:
        consumer.subscribe("measurements")
        while count < len(messages):
            count += len(await consumer.poll())
    print(f"received {count} messages")


asyncio.run(main())
