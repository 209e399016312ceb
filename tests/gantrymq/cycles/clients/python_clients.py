"""Our clients at work through failovers: `... NAMESRV TOPIC FOLDER MESSAGES_A_SECOND`.

A producer that several tasks wait for, and a push consumer, with nothing set but the name server.
As CycleDriver.java does it: what each was told goes to a file of its own, a first line on standard
input ends the sends, which "stopped" confirms, and the end of the input ends the process.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Final, final

import uvloop

from gantrymq.base.errors import GantryError
from gantrymq.client import (
    ConsumeFrom,
    Message,
    Producer,
    PushConsumer,
    ReceivedMessage,
    SendStatus,
)
from gantrymq.cycles.records import BODY, BODY_BYTES, RecordWriter, Status

SENDER: Final = 3
TASKS: Final = 16
FLUSH_SECONDS: Final = 0.02
TELL_SECONDS: Final = 0.1  # of thousands that fail alike a few are told
BEHIND_SECONDS: Final = 0.05  # what an outage delayed is not caught up
FAILED_SECONDS: Final = 0.02


@final
class Sends:
    """The sends of one producer, by several tasks at a common pace."""

    def __init__(self, topic: str, records: RecordWriter, per_second: int) -> None:
        self.is_over = False
        self._due = time.monotonic()
        self._number = 0
        self._pace_seconds = 1 / per_second
        self._records = records
        self._told_at = 0.0
        self._topic = topic

    async def run(self, producer: Producer) -> None:
        while not self.is_over:
            self._due = max(self._due + self._pace_seconds, time.monotonic() - BEHIND_SECONDS)
            await asyncio.sleep(max(0.0, self._due - time.monotonic()))
            self._number += 1
            await self._send(producer, self._number)

    async def _send(self, producer: Producer, number: int) -> None:
        body = BODY.pack(SENDER, number).ljust(BODY_BYTES, b"\0")
        try:
            result = await producer.send(Message(self._topic, body))
        except GantryError as error:
            self._records.add(Status.EXCEPTION, SENDER, 0, number, -1)
            now = time.monotonic()
            if now - self._told_at > TELL_SECONDS:
                self._told_at = now
                sys.stderr.write(f"{now} {number} {error!r}\n")
            await asyncio.sleep(FAILED_SECONDS)
        else:
            status = Status[SendStatus(result.status).name]
            place = result.queue.queue_id, number, result.queue_offset
            self._records.add(status, SENDER, *place)


async def _flush(*files: RecordWriter) -> None:
    while True:
        await asyncio.sleep(FLUSH_SECONDS)
        for file in files:
            file.flush()


async def run(names: str, topic: str, folder: Path, per_second: int) -> None:
    told, given = (RecordWriter(folder / f"python-{each}.records") for each in ("send", "push"))

    def take(messages: list[ReceivedMessage]) -> None:
        for message in messages:
            sender, number = BODY.unpack_from(message.body)
            given.add(0, sender, message.queue.queue_id, number, message.offset)

    consumer = PushConsumer(
        "python-push", name_servers=names, consume_from=ConsumeFrom.FIRST_OFFSET
    )
    consumer.subscribe(topic, "*", take)
    sends = Sends(topic, told, per_second)
    async with consumer, Producer("python-send", name_servers=names) as producer:
        flusher = asyncio.create_task(_flush(told, given))
        tasks = [asyncio.create_task(sends.run(producer)) for _ in range(TASKS)]
        await asyncio.to_thread(sys.stdin.readline)
        sends.is_over = True
        await asyncio.gather(*tasks)
        told.flush()
        print("stopped", flush=True)  # noqa: T201 - the parent process waits for this
        await asyncio.to_thread(sys.stdin.read)
        flusher.cancel()
        os._exit(0)


if __name__ == "__main__":
    _, given_names, given_topic, given_folder, given_pace = sys.argv
    uvloop.run(run(given_names, given_topic, Path(given_folder), int(given_pace)))
