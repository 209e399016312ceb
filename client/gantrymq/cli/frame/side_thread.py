"""Runs blocking reads and writes in a thread beside the event loop.

A read of a terminal or a write to a pipe may block for ever. Invariant: the thread runs one call
after another. It is a daemon thread, so it does not delay the end of the process.
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
    """One daemon thread, which its first call starts."""

    def __init__(self, name: str) -> None:
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    async def call(self, function: Callable[[], T]) -> T:
        """Run the function in the thread; return its result or raise its exception."""
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
    with suppress(RuntimeError):  # the loop is closed, so no task waits for the future
        try:
            result = function()
        except Exception as error:  # the caller gets it from the future
            future.set_exception(error)
        else:
            future.set_result(result)
