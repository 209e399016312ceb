"""What threads hand over to the loop: it is woken once for all that comes until it looks.

Invariant: what was added before something else was asked of the loop is taken before that; so a
`close` finds all of it. Who adds faster than the loop takes waits for it: memory is bounded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, Generic, TypeVar, final

from gantrymq.client.blocking.loop_thread import LoopThread

T = TypeVar("T")

# The loop takes them in a few hundredths of a second, in which it does nothing else.
WAITING_MAX: Final = 4_096


@final
class Handover(Generic[T]):
    """To one member."""

    __slots__ = ("_is_woken", "_take", "_waiting")

    def __init__(self, take: Callable[[T], None]) -> None:
        """`take` is called on the loop, once for each, and does not raise."""
        self._take = take
        self._waiting: deque[T] = deque()
        self._is_woken = False

    def add(self, thread: LoopThread, item: T) -> None:
        """From any thread but the loop's; raises StateError, and then nothing was added."""
        thread.must_be_usable()  # each time: who wakes the loop may have done so in our parent
        if len(self._waiting) >= WAITING_MAX:
            thread.call(self._take_all)
        self._waiting.append(item)
        if not self._is_woken:
            self._is_woken = True
            thread.post(self._take_all)

    def _take_all(self) -> None:
        self._is_woken = False  # first: whoever adds from now on may be too late for this time
        waiting = self._waiting
        for _ in range(len(waiting)):
            self._take(waiting.popleft())
