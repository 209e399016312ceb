"""Creates a topic by its first message, if the brokers allow that.

Run:  python examples/25_topics_by_first_message.py    while `gantry standalone` runs

`gantry standalone` allows it (autoCreateTopicEnable=true). A production broker does not by default,
so a misspelt name is an error instead of a topic without consumers.

Prints:
    made-by-default: 4 queues
    made-wider: 8 queues
    an invalid name: The specified topic[no spaces] contains illegal characters
"""

import asyncio
import os

from gantrymq.client import Message, MessageError, Producer

NAME_SERVERS = os.environ.get("NAMESRV_ADDR", "127.0.0.1:9876")


async def queues_after_a_message(topic: str, default_topic_queues: int = 4) -> int:
    """A broker gives a new topic what its producer asks for, and eight queues at most."""
    async with Producer(
        "pioneers", name_servers=NAME_SERVERS, default_topic_queues=default_topic_queues
    ) as producer:
        await producer.send(Message(topic, "hello"))
    async with Producer("settlers", name_servers=NAME_SERVERS) as producer:
        return len(await producer.queues(topic))


async def main() -> None:
    print("made-by-default:", await queues_after_a_message("made-by-default"), "queues")
    print("made-wider:", await queues_after_a_message("made-wider", 16), "queues")
    try:
        Message("no spaces", "hello")
    except MessageError as error:
        print("an invalid name:", str(error).partition(",")[0])


asyncio.run(main())
