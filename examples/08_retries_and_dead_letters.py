"""Retries messages that cannot be consumed, until they become dead letters.

Run:  python examples/08_retries_and_dead_letters.py    while `gantry standalone` runs

A listener that raises an exception or returns LATER gets the message again after 10 s, 30 s, 1 min
and so on, up to 16 times. This listener chooses delay level 1 (a second), and its group retries
only twice. Dead letters are in an ordinary topic: %DLQ% and the name of the group.

Prints:
    try 1: not today
    try 2: not today
    try 3: not today
    dead letter: parcel, from topic parcels
"""

import asyncio
import os

from gantrymq.client import (
    ConsumeFrom,
    Later,
    Message,
    Outcome,
    Producer,
    PullConsumer,
    PushConsumer,
    ReceivedMessage,
)

NAME_SERVERS = os.environ.get("NAMESRV_ADDR", "127.0.0.1:9876")
GROUP = "couriers"


def deliver(messages: list[ReceivedMessage]) -> Outcome:
    print(f"try {messages[0].reconsume_times + 1}: not today")
    return Later(level=1)


async def main() -> None:
    async with Producer("post-office", name_servers=NAME_SERVERS) as producer:
        await producer.send(Message("parcels", "parcel"))

    consumer = PushConsumer(
        GROUP,
        name_servers=NAME_SERVERS,
        consume_from=ConsumeFrom.FIRST_OFFSET,
        max_reconsume_times=2,
    )
    consumer.subscribe("parcels", "*", deliver)
    inspector = PullConsumer(
        "inspectors", name_servers=NAME_SERVERS, consume_from=ConsumeFrom.FIRST_OFFSET
    )
    async with consumer, inspector:
        inspector.subscribe(f"%DLQ%{GROUP}")
        async for message in inspector:
            print(f"dead letter: {message.body.decode()}, from topic {message.topic}")
            break


asyncio.run(main())
