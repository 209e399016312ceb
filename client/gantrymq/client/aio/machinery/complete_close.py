"""Completes a close despite cancellation, so that no tasks, sockets or queue owners remain."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


async def to_its_end(ending: Coroutine[Any, Any, None]) -> None:
    """Await `ending`. A cancelled caller gets its cancellation after the end; a second one at
    once."""
    running = asyncio.ensure_future(ending)
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise
