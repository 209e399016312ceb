"""Fills topics with equal bodies: eight bytes of a number, then bytes that do not compress."""

from __future__ import annotations

import asyncio
import random
from typing import Final

from gantrymq.client import Message, Producer, WaitingFullError

NUMBER_BYTES: Final = 8
GIVEN_AT_ONCE: Final = 1000  # then the event loop gets time to send


def filler(body_bytes: int) -> bytes:
    """The bytes that follow the number in each body."""
    return random.Random(7).randbytes(body_bytes - NUMBER_BYTES)  # noqa: S311 - no secret


def fill_gantry(name_servers: str, topic: str, rows: int, body_bytes: int) -> None:
    """Send with Gantry's client; every message has the unique key that clients add."""
    asyncio.run(_fill(name_servers, topic, rows, filler(body_bytes)))


async def _fill(name_servers: str, topic: str, rows: int, rest: bytes) -> None:
    async with Producer("bench-spark", name_servers=name_servers) as producer:
        for number in range(rows):
            message = Message(topic, number.to_bytes(NUMBER_BYTES, "big") + rest)
            try:
                producer.send_async(message)
            except WaitingFullError:
                await producer.room()
                producer.send_async(message)
            if number % GIVEN_AT_ONCE == 0:
                await asyncio.sleep(0)
        await producer.flush()
