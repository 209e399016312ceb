"""Sends a request as a message and waits for the reply of its consumer.

Run:  python examples/17_request_and_reply.py    while `gantry standalone` runs

Any producer can send the reply; the broker delivers it to the client that sent the request.

Prints:
    6 * 7 = 42
    no reply to 1 / 0 within half a second
"""

import asyncio
import os

from gantrymq.client import (
    Admin,
    Message,
    NoReplyError,
    Producer,
    PushConsumer,
    ReceivedMessage,
    reply,
)

NAME_SERVERS = os.environ.get("NAMESRV_ADDR", "127.0.0.1:9876")


async def main() -> None:
    async with Admin(name_servers=NAME_SERVERS) as admin:
        await admin.create_topic("questions")

    producer = Producer("calculators", name_servers=NAME_SERVERS)
    consumer = PushConsumer("calculators", name_servers=NAME_SERVERS)

    async def answer(messages: list[ReceivedMessage]) -> None:
        for message in messages:
            left, operator, right = message.body.decode().split()
            if operator == "*":
                await producer.send(reply(message, str(int(left) * int(right))))

    consumer.subscribe("questions", "*", answer)
    async with producer, consumer:
        answered = await producer.request(Message("questions", "6 * 7"), timeout_s=20.0)
        print("6 * 7 =", answered.body.decode())
        try:
            await producer.request(Message("questions", "1 / 0"), timeout_s=0.5)
        except NoReplyError:
            print("no reply to 1 / 0 within half a second")


asyncio.run(main())
