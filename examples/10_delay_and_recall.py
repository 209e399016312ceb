"""Any delay, or a moment by the calendar; and a message that is taken back before it is due.

Run:  python examples/10_delay_and_recall.py    while `gantry standalone` runs

For brokers of 5.x, which keep such messages for up to a year. A Java broker needs
recallMessageEnable=true to have them taken back.

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
    in_two_seconds = int(time.time() * 1000) + 2000
    reminder = Message("reminders", "send the invoice again", delay_s=1.5)
    async with Producer("secretary", name_servers=NAME_SERVERS) as producer:
        await producer.send(Message("reminders", "in two seconds", deliver_at_ms=in_two_seconds))
        await producer.send(Message("reminders", "in one second", delay_s=1))
        sent = await producer.send(reminder)
        await producer.recall(sent)
        print("taken back:", reminder.body.decode())

    count = 0
    async with PullConsumer(
        "reminded", name_servers=NAME_SERVERS, consume_from=ConsumeFrom.FIRST_OFFSET
    ) as consumer:
        consumer.subscribe("reminders")
        async for message in consumer:
            print("received:", message.body.decode())
            count += 1
            if count == 2:
                break


asyncio.run(main())
