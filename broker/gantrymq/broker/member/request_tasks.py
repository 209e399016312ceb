"""Runs a member's requests to the Kubernetes API as tasks, and reports those that fail."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import final


@final
class RequestTasks:
    """The running requests of one member. Its host calls `stop` at the end."""

    __slots__ = ("_fail", "_tasks")

    def __init__(self, fail: Callable[[Exception], None]) -> None:
        """`fail` gets the exception of a request that raises one."""
        self._fail = fail
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, work: Coroutine[None, None, None], name: str) -> None:
        """Start a request; `name` is the name of its task."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def stop(self) -> None:
        """Cancel all requests and wait until they have ended."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            self._fail(error)
