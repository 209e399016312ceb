"""Filters messages by their properties, with an SQL92 expression that the broker evaluates.

Run:  python examples/05_sql_filter.py    while `gantry standalone` runs

A Java broker needs enablePropertyFilter=true.

Prints:
    sent: cup for 3 to eu
    sent: table for 120 to eu
    sent: lamp for 80 to us
    sent: chair for 45 to eu
    matched: chair
    matched: table
"""

import asyncio
import os

from gantrymq.client import ConsumeFrom, Message, Producer, PullConsumer, Sql

NAME_SERVERS = os.environ.get("NAMESRV_ADDR", "127.0.0.1:9876")
OFFERS = [("cup", 3, "eu"), ("table", 120, "eu"), ("lamp", 80, "us"), ("chair", 45, "eu")]


async def main() -> None:
    async with Producer("offers", name_servers=NAME_SERVERS) as producer:
        for name, price, region in OFFERS:
            properties = {"price": str(price), "region": region}
            await producer.send(Message("offers", name, properties=properties))
            print(f"sent: {name} for {price} to {region}")

    matched = []
    async with PullConsumer(
        "europeans", name_servers=NAME_SERVERS, consume_from=ConsumeFrom.FIRST_OFFSET
    ) as consumer:
        consumer.subscribe("offers", Sql("region = 'eu' AND price BETWEEN 10 AND 200"))
        async for message in consumer:
            matched.append(message.body.decode())
            if len(matched) == 2:
                break
    for name in sorted(matched):
        print("matched:", name)


asyncio.run(main())
