"""A start that is under way, and who closes meanwhile: what was begun is closed as a whole.

with self._starting:                 in `start`, around what takes time
await self._starting.is_over()       in `close`, before anything else
"""

from __future__ import annotations

import asyncio
from typing import final


@final
class Starting:
    """Of one member."""

    __slots__ = ("_over",)

    def __init__(self) -> None:
        self._over: asyncio.Event | None = None

    def __enter__(self) -> None:
        self._over = asyncio.Event()

    def __exit__(self, *error: object) -> None:
        if self._over is not None:
            self._over.set()

    async def is_over(self) -> None:
        """At once when nothing is under way."""
        if self._over is not None:
            await self._over.wait()
