"""Delays messages by any time or until a date, and recalls one before it is due.

Run:  python examples/10_delay_and_recall.py    while `gantry standalone` runs

This needs brokers of 5.x, which keep such messages for up to a year. A Java broker needs
recallMessageEnable=true for the recall.

Prints:
    taken back: send the invoice again
    received: in one second
    received: in two seconds
"""

import asyncio
import os
import time

from gantrymq.client import ConsumeFrom, Message, Producer, PullConsumer

NAME_SERVERS = os.environ.get("NAMESRV_ADDR", "127.0.0.1:9876")


async def main() -> None:
    async with Producer("secretary", name_servers=NAME_SERVERS) as producer:
        sent = await producer.send(Message("reminders", "in one second", delay_s=1))
        moment_ms = int(time.time() * 1000) + 2000
        later = Message("reminders", "in two seconds", deliver_at_ms=moment_ms)
        await producer.send(later, queue=sent.queue)  # in one queue they come as they are due

        reminder = Message("reminders", "send the invoice again", delay_s=3600)
        await producer.recall(await producer.send(reminder))
        print("taken back:", reminder.body.decode())

    async with PullConsumer(
        "reminded", name_servers=NAME_SERVERS, consume_from=ConsumeFrom.FIRST_OFFSET
    ) as consumer:
        consumer.subscribe("reminders")
        for _ in range(2):
            message = await anext(consumer)
            print("received:", message.body.decode())


asyncio.run(main())
