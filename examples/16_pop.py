"""Pops single messages from the broker, and acknowledges each of them separately.

Run:  python examples/16_pop.py    while `gantry standalone` runs

This needs brokers of 5.x. Queues are not assigned: any number of workers can take messages from one
queue, and a slow message does not delay others. A message that is not acknowledged within
`invisible_s` is delivered again. Leaving `async with message` acknowledges it; after an exception
the message is delivered again in `retry_s`.

Prints:
    job 1: done
    job 2: the printer is out of paper
    job 2: done
"""

import asyncio
import os

from gantrymq.client import Message, PopConsumer, Producer, by_key

NAME_SERVERS = os.environ.get("NAMESRV_ADDR", "127.0.0.1:9876")
faults = {b"job 2": ["the printer is out of paper"]}


def work(job: bytes) -> None:
    if faults.get(job):
        raise OSError(faults[job].pop())


async def main() -> None:
    async with Producer("office", name_servers=NAME_SERVERS) as producer:
        for job in "job 1", "job 2":
            await producer.send(Message("print-jobs", job), select=by_key, key="a queue")

    consumer = PopConsumer("printers", name_servers=NAME_SERVERS, from_first=True, retry_s=1.0)
    consumer.subscribe("print-jobs")
    open_jobs = {b"job 1", b"job 2"}
    async with consumer:
        while open_jobs:
            popped = await consumer.receive(timeout_s=30.0)
            assert popped is not None, "no job came in half a minute"
            try:
                async with popped:
                    work(popped.body)
            except OSError as error:
                print(f"{popped.body.decode()}: {error}")
            else:
                print(f"{popped.body.decode()}: done")
                open_jobs.discard(popped.body)


asyncio.run(main())
