"""Traces a message: its producer, time, broker and duration, found by id or key.

Run:  python examples/19_trace.py    while `gantry standalone` runs

Traces are messages of the topic RMQ_SYS_TRACE_TOPIC in RocketMQ's format. RocketMQ's
`mqadmin queryMsgTraceById -i ID` and its dashboard show them.

Prints:
    group: tracked-shop
    topic: traced
    keys: 4711
    body: 5 bytes
    success: true
"""

import asyncio
import os

from gantrymq.client import Admin, Message, Producer

NAME_SERVERS = os.environ.get("NAMESRV_ADDR", "127.0.0.1:9876")
TRACES = "RMQ_SYS_TRACE_TOPIC"


async def main() -> None:
    async with Producer("tracked-shop", name_servers=NAME_SERVERS, trace=True) as producer:
        result = await producer.send(Message("traced", "hello", keys=["4711"]))

    async with Admin(name_servers=NAME_SERVERS) as admin:
        while not (found := await admin.messages.by_key(TRACES, result.message_id)):
            await asyncio.sleep(0.1)  # it is indexed a moment after it was stored
    lines = found[0].body.decode().split("\x02")
    line = next(line for line in lines if result.message_id in line)
    _, _, _, group, topic, _, _, keys, _, size, _, _, _, success, *_ = line.split("\x01")
    print("group:", group)
    print("topic:", topic)
    print("keys:", keys)
    print(f"body: {size} bytes")
    print("success:", success)


asyncio.run(main())
