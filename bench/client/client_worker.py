"""Runs Gantry's client as the load, by orders on standard input.

await TASKS SECONDS BYTES   tasks that await each send
soon SECONDS BYTES          accumulated sends, each of them awaited
flush SECONDS BYTES         accumulated sends, flushed at the end; the broker is asked for its count
                            -> messages, failed ones, seconds, and three zeros for latencies
lists SECONDS BYTES LIST    the same, with so many at once in ready lists of bodies
push GROUP COUNT SIZE       a new group reads so many messages, so many for each call
pull GROUP COUNT            the same with polls of all queues
                            -> messages, seconds from the first message to the last
waiting COUNT               so many accumulated sends that do not leave
ahead COUNT                 a group whose listener never returns pulls as many as it may
                            -> messages, bytes that the process grew by

The orders are those of java/LoadClient.java.
"""

from __future__ import annotations

import asyncio
import gc
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import uvloop

from gantrymq.client import (
    ClientError,
    ConsumeFrom,
    Message,
    Producer,
    PullConsumer,
    PushConsumer,
    ReceivedMessage,
    Sending,
    WaitingFullError,
)
from gantrymq.remoting.failures import RequestError

# Sends that start before their results are awaited: several batches.
GIVEN_AT_ONCE = 4096

PULL_BATCH = 32
HELD_BODY = 128
POLL_SECONDS = 0.01
CONSUME_SECONDS_MAX = 120.0


class Taken:
    """The number of messages that were sent, and that failed."""

    def __init__(self) -> None:
        self.count = 0
        self.failed = 0

    def answer(self, began: float) -> str:
        return f"{self.count} {self.failed} {time.monotonic() - began} 0 0 0"


class Tally:
    """Counts messages, and measures the time between the first and the last."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._began = self._ended = 0.0
        self._count = 0
        self.done = asyncio.Event()

    def add(self, messages: list[ReceivedMessage]) -> None:
        if not self._count:
            self._began = time.monotonic()
        for message in messages:
            self._count += bool(message.body)
        if self._count >= self._wanted and not self.done.is_set():
            self._ended = time.monotonic()
            self.done.set()

    def answer(self) -> str:
        return f"{self._wanted} {self._ended - self._began}"


class Load:
    """The load on one topic."""

    def __init__(self, name_server: str, topic: str) -> None:
        self._name_server = name_server
        self._topic = topic
        self._producer = Producer("bench-python", name_servers=name_server)

    async def run(self) -> None:
        async with self._producer:
            while line := await asyncio.to_thread(sys.stdin.readline):
                order, *words = line.split()
                print(await self.obey(order, words), flush=True)

    async def obey(self, order: str, words: list[str]) -> str:
        match order:
            case "await":
                return await self._awaited(int(words[0]), float(words[1]), bytes(int(words[2])))
            case "soon":
                return await self._soon(float(words[0]), bytes(int(words[1])))
            case "flush":
                return await self._flushed(float(words[0]), bytes(int(words[1])))
            case "lists":
                return await self._listed(float(words[0]), bytes(int(words[1])), int(words[2]))
            case "push":
                return await self._pushed(words[0], int(words[1]), int(words[2]))
            case "pull":
                return await self._pulled(words[0], int(words[1]))
            case "waiting":
                return await self._waiting(int(words[0]))
            case "ahead":
                return await self._ahead(int(words[0]))
        raise ValueError(f"no order {order}")

    # ------------------------------------------------------------------ sends

    async def _awaited(self, tasks: int, seconds: float, body: bytes) -> str:
        began = time.monotonic()
        taken = Taken()
        senders = (self._sender(began + seconds, body, taken) for _ in range(tasks))
        await asyncio.gather(*senders)
        return taken.answer(began)

    async def _sender(self, end: float, body: bytes, taken: Taken) -> None:
        while time.monotonic() < end:
            try:
                await self._producer.send(Message(self._topic, body, tag="TagA"))
                taken.count += 1
            except (ClientError, RequestError):
                taken.failed += 1

    async def _soon(self, seconds: float, body: bytes) -> str:
        began = time.monotonic()
        taken = Taken()
        while time.monotonic() < began + seconds:
            sendings: list[Sending] = []
            await self._give(body, sendings.append)
            for sending in sendings:
                try:
                    await sending
                    taken.count += 1
                except (ClientError, RequestError):
                    taken.failed += 1
        return taken.answer(began)

    async def _flushed(self, seconds: float, body: bytes) -> str:
        began = time.monotonic()
        taken = Taken()
        while time.monotonic() < began + seconds:
            await self._give(body, lambda sending: None)
            taken.count += GIVEN_AT_ONCE
            # like a program that waits for data to send; otherwise nothing would leave
            await asyncio.sleep(0)
        await self._producer.flush()
        return taken.answer(began)

    async def _give(self, body: bytes, keep: Callable[[Sending], None]) -> None:
        topic, send_async = self._topic, self._producer.send_async
        for _ in range(GIVEN_AT_ONCE):
            message = Message(topic, body, tag="TagA")
            try:
                sending = send_async(message)
            except WaitingFullError:
                await self._producer.room()
                sending = send_async(message)
            keep(sending)

    async def _listed(self, seconds: float, body: bytes, size: int) -> str:
        began = time.monotonic()
        taken = Taken()
        bodies = [body] * size
        topic, send_async_many = self._topic, self._producer.send_async_many
        while time.monotonic() < began + seconds:
            for _ in range(GIVEN_AT_ONCE // size):
                try:
                    send_async_many(topic, bodies, tag="TagA")
                except WaitingFullError:
                    await self._producer.room()
                    send_async_many(topic, bodies, tag="TagA")
                taken.count += size
            await asyncio.sleep(0)
        await self._producer.flush()
        return taken.answer(began)

    # ------------------------------------------------------------------ reads

    async def _pushed(self, group: str, count: int, size: int) -> str:
        tally = Tally(count)
        consumer = PushConsumer(
            group,
            name_servers=self._name_server,
            consume_from=ConsumeFrom.FIRST_OFFSET,
            consume_batch=size,
        )
        consumer.subscribe(self._topic, "*", tally.add)
        async with consumer, asyncio.timeout(CONSUME_SECONDS_MAX):
            await tally.done.wait()
        return tally.answer()

    async def _pulled(self, group: str, count: int) -> str:
        tally = Tally(count)
        consumer = PullConsumer(group, name_servers=self._name_server, pull_batch=PULL_BATCH)
        async with consumer, asyncio.timeout(CONSUME_SECONDS_MAX):
            queues = await consumer.fetch_message_queues(self._topic)
            await consumer.assign(queues)
            for queue in queues:
                await consumer.seek_to_begin(queue)
            while not tally.done.is_set():
                tally.add(await consumer.poll())
        return tally.answer()

    # ------------------------------------------------------------------ memory

    async def _waiting(self, count: int) -> str:
        body = bytes(range(HELD_BODY))
        producer = Producer(
            "bench-waiting", name_servers=self._name_server, waiting_bytes_max=1 << 30
        )
        async with producer:
            before = _resident_bytes()
            for _ in range(count):  # each has a body of its own, as a user's messages have
                producer.send_async(Message(self._topic, bytes(bytearray(body)), tag="TagA"))
            grown = _resident_bytes() - before
        return f"{count} {grown}"

    async def _ahead(self, count: int) -> str:
        never = asyncio.Event()

        async def listener(messages: list[ReceivedMessage]) -> None:
            await never.wait()

        consumer = PushConsumer(
            "bench-ahead",
            name_servers=self._name_server,
            consume_from=ConsumeFrom.FIRST_OFFSET,
            pull_threshold=10_000,
            max_span=65_535,
            close_timeout_s=0.0,
        )
        consumer.subscribe(self._topic, "*", listener)
        before = _resident_bytes()
        async with consumer, asyncio.timeout(CONSUME_SECONDS_MAX):
            cached = 0
            while cached < count:
                await asyncio.sleep(POLL_SECONDS)
                cached = sum(each.cached for each in consumer.status())
            grown = _resident_bytes() - before
        return f"{cached} {grown}"


def _resident_bytes() -> int:
    gc.collect()
    rollup = Path("/proc/self/smaps_rollup").read_text()
    found = re.search(r"Rss: +(\d+) kB", rollup)
    assert found is not None, "Linux says how much of a process is in memory"
    return int(found[1]) * 1024


if __name__ == "__main__":
    uvloop.run(Load(sys.argv[1], sys.argv[2]).run())
