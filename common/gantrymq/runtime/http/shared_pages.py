"""Bounds the work of making metrics pages, however many clients request them.

One page is made at a time. Clients that ask meanwhile get the same page, and so do those that ask
shortly afterwards: for REUSE_FACTOR times as long as making it took, at most REUSE_SECONDS_MAX. So
a flood of scrapes takes at most a tenth of the time of the loop that makes pages, as long as making
a page takes less than a tenth of a second. A page that is made quickly, as on a small broker, is
reused only briefly.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from math import inf
from typing import Final, final

REUSE_FACTOR: Final = 10
# Scrapers ask every few seconds, and treat a page as of the moment of their request.
REUSE_SECONDS_MAX: Final = 1.0

Page = Sequence[bytes]
Make = Callable[[str], Awaitable[Page]]


@final
class _Making:
    """A page that is being made, or was made a short while ago."""

    __slots__ = ("good_until", "task")

    def __init__(self) -> None:
        self.task: asyncio.Task[Page] | None = None
        self.good_until = inf


@final
class SharedPages:
    """The pages of one HTTP server, which owns this, calls it on one event loop, and calls
    `expire` regularly.

    `make` returns a new page for a path.
    """

    __slots__ = ("_lock", "_make", "_making", "_monotonic")

    def __init__(self, make: Make, monotonic: Callable[[], float]) -> None:
        self._make = make
        self._monotonic = monotonic
        self._making: dict[str, _Making] = {}
        self._lock = asyncio.Lock()

    async def page(self, path: str, seconds: float) -> Page | None:
        """The page of this path; None if it is not made in time."""
        self.expire()
        making = self._making.get(path)
        if making is None:
            making = self._making[path] = _Making()
        if making.task is None:
            making.task = asyncio.ensure_future(self._made(path, making))
        done, _ = await asyncio.wait([making.task], timeout=seconds)
        return making.task.result() if done else None

    def expire(self) -> None:
        """Drop pages that are too old."""
        now = self._monotonic()
        self._making = {path: each for path, each in self._making.items() if now < each.good_until}

    def close(self) -> None:
        """Cancel the pages in progress; clients that wait get none."""
        for making in self._making.values():
            if making.task is not None:
                making.task.cancel()

    async def _made(self, path: str, making: _Making) -> Page:
        took = 0.0
        try:
            async with self._lock:
                began = self._monotonic()
                made = await self._make(path)
                took = self._monotonic() - began
                return made
        finally:
            lasts = min(REUSE_SECONDS_MAX, REUSE_FACTOR * took)
            making.good_until = self._monotonic() + lasts
