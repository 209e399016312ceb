"""Waits until an event loop is idle, so that a virtual clock may move.

asyncio's own loop has a queue of callbacks: empty means idle. Other loops (uvloop) hide theirs, so
their tasks are inspected for several rounds: one callback may lead to another that wakes a task
(`gather` takes two rounds), and never to more than ROUNDS of them. Invariant: `settle_loop` returns
only when no task can go on. A task that waits for the real world, such as a thread, counts as
waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sized
from typing import Final

ROUNDS: Final = 5

# A task that never waits would keep the clock from moving.
ROUNDS_MAX: Final = 1_000_000


async def settle_loop(take_stirred: Callable[[], bool]) -> None:
    """Wait until the running loop is idle.

    `take_stirred` says whether, since the last call, something happened that tasks will react to.
    """
    # Neither attribute has a public name.
    queue: Sized | None = getattr(asyncio.get_running_loop(), "_ready", None)
    wanted = ROUNDS if queue is None else 1
    quiet = 0
    for _ in range(ROUNDS_MAX):
        await asyncio.sleep(0)
        is_busy = _has_runnable_tasks() if queue is None else len(queue) > 0
        quiet = 0 if take_stirred() or is_busy else quiet + 1
        if quiet == wanted:
            return
    raise AssertionError(
        "the tasks of this test never come to rest: one of them loops over asyncio.sleep(0), or"
        " asks again and again without waiting; it must wait in virtual time: broker.sleep(...)"
    )


def _has_runnable_tasks() -> bool:
    own = asyncio.current_task()
    return any(_is_runnable(task) for task in asyncio.all_tasks() if task is not own)


def _is_runnable(task: asyncio.Task[object]) -> bool:
    waits_for: asyncio.Future[object] | None = getattr(task, "_fut_waiter", None)
    return waits_for is None or waits_for.done()
