"""Finds the first message of a queue that was stored at or after a time.

Brokers of 5.x answer that exactly. Brokers of 4.9 return the message with the nearest time, or any
of several of the same millisecond, or the last one if none is new enough. So a broker's answer is a
guess: two reads confirm a right one, and a binary search corrects a wrong one.
"""

from __future__ import annotations

from collections.abc import Callable

from gantrymq.client.core.flow.flow_steps import Flow
from gantrymq.spark.source.planning.bounds import Bounds


async def first_stored_at(
    moment_ms: int, has: Bounds, guess: int, stored_ms: Callable[[int], Flow[int]]
) -> int | None:
    """Return its offset; None if all messages are older. `stored_ms` returns an offset's time."""
    guess = min(max(guess, has.first), has.end)
    low, high = has.first, has.end
    if guess < has.end and await stored_ms(guess) < moment_ms:
        low = guess + 1
    elif guess > has.first and await stored_ms(guess - 1) >= moment_ms:
        high = guess - 1
    else:
        low = high = guess
    while low < high:
        middle = (low + high) // 2
        if await stored_ms(middle) < moment_ms:
            low = middle + 1
        else:
            high = middle
    return low if low < has.end else None
