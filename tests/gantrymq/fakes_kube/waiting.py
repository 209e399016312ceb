"""Waits in real time for conditions that other tasks, threads or processes bring about."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

# Far longer than anything takes here, even on a busy machine.
PATIENCE_SECONDS: Final = 30.0


async def until(condition: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> None:
    """Returns once the condition is met; TimeoutError when it never is."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - there is no event for every condition
            await asyncio.sleep(0.005)
