"""Sends and consumes a message without asyncio, with `gantrymq.client.blocking`.

Run:  python examples/02_blocking.py    while `gantry standalone` runs

A PullConsumer returns messages on request. Returned messages count as consumed at the next request
and at the end of the `with` block.

Prints:
    sent: SEND_OK
    received: hello
"""

import os

from gantrymq.client import ConsumeFrom, Message
from gantrymq.client.blocking import Producer, PullConsumer

NAME_SERVERS = os.environ.get("NAMESRV_ADDR", "127.0.0.1:9876")

with Producer("blocking-greeters", name_servers=NAME_SERVERS) as producer:
    result = producer.send(Message("blocking", "hello"))
    print("sent:", result.status.name)

with PullConsumer(
    "blocking-readers", name_servers=NAME_SERVERS, consume_from=ConsumeFrom.FIRST_OFFSET
) as consumer:
    consumer.subscribe("blocking")
    for message in consumer:
        print("received:", message.body.decode())
        break
