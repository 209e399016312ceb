"""Limits how many flows do something at a time: a semaphore, first come, first served.

    await semaphore.take()
    try: ...
    finally: semaphore.give_back()

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

    def __init__(self, slots: int) -> None:
        self._free = slots
        self._waiting: deque[Signal] = deque()

    async def take(self) -> None:
        if self._free > 0:
            self._free -= 1
            return
        granted = Signal()
        self._waiting.append(granted)
        try:
            await Wait(FOREVER, granted)
        except BaseException:
            if granted in self._waiting:
                self._waiting.remove(granted)
            else:
                self.give_back()
            raise

    def give_back(self) -> None:
        if self._waiting:
            self._waiting.popleft().fire()
        else:
            self._free += 1
