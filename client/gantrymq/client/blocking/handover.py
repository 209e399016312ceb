"""Passes items from threads to the event loop, and wakes the loop once for many items.

Invariant: an item that was added before another request to the loop is received before that
request, or waits in order for room; `received` waits for that. Memory is bounded: a thread that
adds items faster than the loop receives them, or while there is no room, waits.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import Final, Generic, Protocol, TypeVar, final

from gantrymq.client.blocking.loop_thread import LoopThread

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)

# The loop receives so many in a few hundredths of a second, in which it does nothing else.
WAITING_MAX: Final = 4_096


class Receiver(Protocol[T_contra]):
    """Receives the items on the event loop."""

    @property
    def is_full(self) -> bool:
        """Whether it cannot receive an item now."""

    def receive(self, item: T_contra) -> None:
        """Process one item; does not raise."""

    async def room(self) -> None:
        """Wait until it is no longer full."""


@final
class Handover(Generic[T]):
    """The items on their way to one receiver. Its owner is a blocking producer."""

    __slots__ = ("_adding", "_is_woken", "_receiver", "_waiting", "_waiting_for_room")

    def __init__(self, receiver: Receiver[T]) -> None:
        self._receiver = receiver
        self._waiting: deque[T] = deque()
        self._waiting_for_room: asyncio.Task[None] | None = None
        """Runs while the receiver is full and items wait."""
        self._is_woken = False
        self._adding = threading.Lock()

    def add(self, thread: LoopThread, item: T) -> None:
        """Add an item from any thread except the loop's. Raises StateError if it was not added."""
        # Each time, because the flag `_is_woken` may have been set in the parent of a fork.
        thread.must_be_usable()
        if len(self._waiting) >= WAITING_MAX or self._waiting_for_room is not None:
            thread.run(self.received())
        # The lock covers the wake-up too: a loop that ends refuses it, and then the next caller
        # must try it again.
        with self._adding:
            self._waiting.append(item)
            if not self._is_woken:
                self._is_woken = True
                try:
                    thread.post(self._receive_all)
                except BaseException:
                    self._is_woken = False
                    raise

    async def received(self) -> None:
        """Wait until all items that were added before are received."""
        self._receive_all()
        if self._waiting_for_room is not None:
            await asyncio.shield(self._waiting_for_room)  # other callers wait for it as well

    def _receive_all(self) -> None:
        self._is_woken = False  # first: an item that is added from now on may miss this call
        if self._waiting_for_room is None and not self._receive_until_full():
            waiting = asyncio.get_running_loop().create_task(self._wait_for_room())
            self._waiting_for_room = waiting

    def _receive_until_full(self) -> bool:
        """Pass items on while there is room; return whether none is left."""
        waiting, receiver = self._waiting, self._receiver
        for _ in range(len(waiting)):
            if receiver.is_full:
                return False
            receiver.receive(waiting.popleft())
        return True

    async def _wait_for_room(self) -> None:
        """Pass on the rest as room comes. Meanwhile each thread can add at most one item."""
        try:
            while not self._receive_until_full():
                await self._receiver.room()
        except asyncio.CancelledError:  # the loop ends: the receiver reports the failure
            while self._waiting:
                self._receiver.receive(self._waiting.popleft())
            raise
        finally:
            self._waiting_for_room = None
