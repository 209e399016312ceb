"""Makes a concurrent `close` wait until a start is over, so that it closes everything begun.

with self._starting:                 in `start`, around the part that waits
await self._starting.is_over()       in `close`, before anything else
"""

from __future__ import annotations

import asyncio
from typing import final


@final
class Starting:
    """The state of one member's start."""

    __slots__ = ("_over",)

    def __init__(self) -> None:
        self._over: asyncio.Event | None = None

    def __enter__(self) -> None:
        self._over = asyncio.Event()

    def __exit__(self, *error: object) -> None:
        if self._over is not None:
            self._over.set()

    async def is_over(self) -> None:
        """Wait for the end of the start; return at once if none is running."""
        if self._over is not None:
            await self._over.wait()
