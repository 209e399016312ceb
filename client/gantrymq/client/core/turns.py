"""Turns at something that only so many flows may do at a time: first come, first served.

    await turns.take()
    try: ...
    finally: turns.give_back()

Invariant: a place that is given back goes to the one that waits longest, and wakes nobody else:
with thousands who wait, waking all of them each time would be most of the work.
"""

from __future__ import annotations

from collections import deque
from typing import final

from gantrymq.client.core.steps import FOREVER, Signal, Wait


@final
class Turns:
    """Flows that end while they wait for their turn lose it, and keep nobody from his."""

    __slots__ = ("_free", "_waiting")

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: deque[Signal] = deque()

    async def take(self) -> None:
        if self._free > 0:
            self._free -= 1
            return
        given = Signal()
        self._waiting.append(given)
        try:
            await Wait(FOREVER, given)
        except BaseException:
            if given in self._waiting:
                self._waiting.remove(given)
            else:
                self.give_back()
            raise

    def give_back(self) -> None:
        if self._waiting:
            self._waiting.popleft().fire()
        else:
            self._free += 1
