"""Administers a cluster: creates a topic, reads a group's progress, and resets it.

Run:  python examples/24_administration.py    while `gantry standalone` runs

The administrator can do what `gantry` and mqadmin do on the command line: see admin.topics, groups,
offsets, messages, connections, brokers, clusters, name_servers, accounts.

Prints:
    audited has 2 queues
    auditors: 3 of 3 consumed, 0 behind
    auditors after the reset: 3 behind
    audited is gone
"""

import asyncio
import os

from gantrymq.client import Admin, ConsumeFrom, Message, Producer, PullConsumer

NAME_SERVERS = os.environ.get("NAMESRV_ADDR", "127.0.0.1:9876")


async def consume(count: int) -> None:
    async with PullConsumer(
        "auditors", name_servers=NAME_SERVERS, consume_from=ConsumeFrom.FIRST_OFFSET
    ) as consumer:
        consumer.subscribe("audited")
        while count > 0:
            count -= len(await consumer.poll())


async def behind(admin: Admin) -> tuple[int, int]:
    """How much the group has not consumed, and of how much."""
    offsets = (await admin.groups.progress("auditors", "audited")).queues.values()
    total = sum(each.broker_offset for each in offsets)
    return total - sum(each.consumer_offset for each in offsets), total


async def main() -> None:
    async with Admin(name_servers=NAME_SERVERS) as admin:
        await admin.create_topic("audited", queues=2)
        print(f"audited has {len((await admin.topics.stats('audited')).queues)} queues")

        async with Producer("auditing", name_servers=NAME_SERVERS) as producer:
            for number in 1, 2, 3:
                await producer.send(Message("audited", f"entry {number}"))
        await consume(3)
        lag, total = await behind(admin)
        print(f"auditors: {total - lag} of {total} consumed, {lag} behind")

        await admin.offsets.reset("auditors", "audited", 0)
        lag, total = await behind(admin)
        print(f"auditors after the reset: {lag} behind")

        await admin.delete_topic("audited")
        print("audited is gone" if "audited" not in await admin.topics.names() else "still there")


asyncio.run(main())
