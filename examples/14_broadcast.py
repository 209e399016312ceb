"""Broadcasts messages: every member of the group gets every message.

Run:  python examples/14_broadcast.py    while `gantry standalone` runs

Each member stores its own progress in a file on its machine, in ~/.rocketmq_offsets or the folder
in ROCKETMQ_CLIENT_LOCALOFFSETSTOREDIR. A member needs a name (instance_name) to find its file after
a restart. Failed messages are not delivered again.

Prints:
    screen-1: news 1, news 2, news 3
    screen-2: news 1, news 2, news 3
"""

import asyncio
import os

from gantrymq.client import ConsumeFrom, Message, Producer, PushConsumer, ReceivedMessage

NAME_SERVERS = os.environ.get("NAMESRV_ADDR", "127.0.0.1:9876")


async def show(screen: str) -> str:
    """Start a screen, and what it shows once it has three messages."""
    shown: list[str] = []
    done = asyncio.Event()

    def listener(messages: list[ReceivedMessage]) -> None:
        shown.extend(message.body.decode() for message in messages)
        if len(shown) == 3:
            done.set()

    consumer = PushConsumer(
        "screens",
        name_servers=NAME_SERVERS,
        instance_name=screen,
        broadcasting=True,
        consume_from=ConsumeFrom.FIRST_OFFSET,
    )
    consumer.subscribe("news", "*", listener)
    async with consumer:
        await done.wait()
    return f"{screen}: {', '.join(sorted(shown))}"


async def main() -> None:
    async with Producer("editors", name_servers=NAME_SERVERS) as producer:
        for number in 1, 2, 3:
            await producer.send(Message("news", f"news {number}"))
    for line in await asyncio.gather(show("screen-1"), show("screen-2")):
        print(line)


asyncio.run(main())
