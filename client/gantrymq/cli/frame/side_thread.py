"""A thread for what may wait for ever: a terminal nobody types at, a pipe nobody reads.

Invariant: it does one thing after another, and dies with the process: Ctrl-C waits for nobody.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from typing import TypeVar, final

T = TypeVar("T")


@final
class SideThread:
    """It begins with its first call."""

    def __init__(self, name: str) -> None:
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    async def call(self, function: Callable[[], T]) -> T:
        """What it gives or raises."""
        if not self._thread.is_alive():
            self._thread.start()
        future: Future[T] = Future()
        self._work.put(lambda: _settle(future, function))
        return await asyncio.wrap_future(future)

    def _run(self) -> None:
        while True:
            self._work.get()()


def _settle(future: Future[T], function: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    with suppress(RuntimeError):  # nobody waits any more: the loop is closed
        try:
            result = function()
        except Exception as error:  # of the caller, who has the future
            future.set_exception(error)
        else:
            future.set_result(result)
