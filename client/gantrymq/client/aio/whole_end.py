"""Ends that are made whole: half of one would leave tasks, sockets, and members who hold queues."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


async def to_its_end(ending: Coroutine[Any, Any, None]) -> None:
    """Whoever is cancelled while waiting for it is so afterwards; who is so twice, at once."""
    running = asyncio.ensure_future(ending)
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise
