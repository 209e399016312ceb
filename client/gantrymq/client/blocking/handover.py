"""What threads hand over to the loop: it is woken once for all that comes until it looks.

Invariant: what was added before something else was asked of the loop is taken before that, or once
there is room for it, in its order: `taken` waits for that. Who adds faster than the loop takes, or
while there is no room, waits for it: memory is bounded.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import Final, Generic, Protocol, TypeVar, final

from gantrymq.client.blocking.loop_thread import LoopThread

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)

# The loop takes them in a few hundredths of a second, in which it does nothing else.
WAITING_MAX: Final = 4_096


class Taker(Protocol[T_contra]):
    """Lives on the loop."""

    @property
    def is_full(self) -> bool:
        """Whether nothing may be given to it."""

    def take(self, item: T_contra) -> None:
        """Does not raise."""

    async def room(self) -> None:
        """Until it is full no longer."""


@final
class Handover(Generic[T]):
    """To one member."""

    __slots__ = ("_adding", "_holding", "_is_woken", "_taker", "_waiting")

    def __init__(self, taker: Taker[T]) -> None:
        self._taker = taker
        self._waiting: deque[T] = deque()
        self._holding: asyncio.Task[None] | None = None
        """Waits for room, as long as there is none."""
        self._is_woken = False
        self._adding = threading.Lock()

    def add(self, thread: LoopThread, item: T) -> None:
        """From any thread but the loop's; raises StateError, and then nothing was added."""
        thread.must_be_usable()  # each time: who wakes the loop may have done so in our parent
        if len(self._waiting) >= WAITING_MAX or self._holding is not None:
            thread.run(self.taken())
        with self._adding:  # a loop that ends refuses who wakes it: the next one must try himself
            self._waiting.append(item)
            if not self._is_woken:
                self._is_woken = True
                try:
                    thread.post(self._take_all)
                except BaseException:
                    self._is_woken = False
                    raise

    async def taken(self) -> None:
        """Until all that was added before is."""
        self._take_all()
        if self._holding is not None:
            await asyncio.shield(self._holding)  # of all who wait

    def _take_all(self) -> None:
        self._is_woken = False  # first: whoever adds from now on may be too late for this time
        if self._holding is None and not self._take_what_fits():
            self._holding = asyncio.get_running_loop().create_task(self._hold())

    def _take_what_fits(self) -> bool:
        """Whether that was all."""
        waiting, taker = self._waiting, self._taker
        for _ in range(len(waiting)):
            if taker.is_full:
                return False
            taker.take(waiting.popleft())
        return True

    async def _hold(self) -> None:
        """Of what is added meanwhile there is one for each thread, at the most."""
        try:
            while not self._take_what_fits():
                await self._taker.room()
        except asyncio.CancelledError:  # the loop ends: whoever takes them says so
            while self._waiting:
                self._taker.take(self._waiting.popleft())
            raise
        finally:
            self._holding = None
