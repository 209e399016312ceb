"""When an event loop has nothing left to do but to wait: then a virtual clock may move.

Invariant: back only after several rounds of the loop in which no task could have gone on. One
callback may lead to another that wakes a task (`gather` takes two rounds), never to more than
ROUNDS of them. What waits for the real world, a thread say, counts as waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

ROUNDS: Final = 5

# Somebody who never waits never lets time pass.
ROUNDS_MAX: Final = 1_000_000


async def settle_loop(take_stirred: Callable[[], bool]) -> None:
    """Let the running loop come to rest. `take_stirred` says whether something was begun that
    tasks will go on with, since it was asked last."""
    own = asyncio.current_task()
    quiet = 0
    for _ in range(ROUNDS_MAX):
        await asyncio.sleep(0)
        is_quiet = not take_stirred() and not any(
            _is_runnable(task) for task in asyncio.all_tasks() if task is not own
        )
        quiet = quiet + 1 if is_quiet else 0
        if quiet == ROUNDS:
            return
    raise AssertionError(
        "the tasks of this test never come to rest: one of them loops over asyncio.sleep(0), or"
        " asks again and again without waiting; it must wait in virtual time: broker.sleep(...)"
    )


def _is_runnable(task: asyncio.Task[object]) -> bool:
    """Whether the loop will call it; asyncio has no other way to tell than what it waits for."""
    waits_for: asyncio.Future[object] | None = getattr(task, "_fut_waiter", None)
    return waits_for is None or waits_for.done()
