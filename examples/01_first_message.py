"""Sends a first message, and consumes it with a listener.

Run:  gantry standalone                      in one shell
      python examples/01_first_message.py    in another

The first message creates the topic, and the first consumer creates the group.

Prints:
    sent: SEND_OK
    received: hello
"""

import asyncio
import os

from gantrymq.client import ConsumeFrom, Message, Producer, PushConsumer, ReceivedMessage

NAME_SERVERS = os.environ.get("NAMESRV_ADDR", "127.0.0.1:9876")


async def main() -> None:
    async with Producer("greeters", name_servers=NAME_SERVERS) as producer:
        result = await producer.send(Message("first-message", "hello"))
        print("sent:", result.status.name)

    done = asyncio.Event()

    def listener(messages: list[ReceivedMessage]) -> None:
        for message in messages:
            print("received:", message.body.decode())
        done.set()

    consumer = PushConsumer(
        "readers", name_servers=NAME_SERVERS, consume_from=ConsumeFrom.FIRST_OFFSET
    )
    consumer.subscribe("first-message", "*", listener)
    async with consumer:
        await done.wait()


asyncio.run(main())
