"""Limits how many flows do something at a time: a semaphore, first come, first served.

    await turns.take()
    try: ...
    finally: turns.give_back()

Invariant: a released slot goes to the flow that has waited longest and wakes only that one. With
thousands of waiting flows, waking all of them each time would be most of the work.
"""

from __future__ import annotations

from collections import deque
from typing import final

from gantrymq.client.core.flow.flow_steps import FOREVER, Signal, Wait


@final
class Semaphore:
    """A semaphore of flows. A flow that is cancelled while it waits gives up its slot."""

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
