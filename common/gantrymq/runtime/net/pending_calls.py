"""Pairs the requests sent on one connection with the coroutines that wait for their responses.

The session reports the outcome of each request; `PendingCalls` turns it into a result or an
exception of the waiting coroutine.
"""

from __future__ import annotations

import asyncio
from typing import final

from gantrymq.remoting.events import Abandoned, Answered, TimedOut
from gantrymq.remoting.failures import ConnectionLostError, RequestTimeoutError
from gantrymq.wire.command import Command


@final
class PendingCalls:
    """Futures by opaque. The table is made at the first request: most server connections send
    none."""

    __slots__ = ("_futures",)

    def __init__(self) -> None:
        self._futures: dict[int, asyncio.Future[Command]] | None = None

    def begin(self, opaque: int) -> asyncio.Future[Command]:
        if self._futures is None:
            self._futures = {}
        future = self._futures[opaque] = asyncio.get_running_loop().create_future()
        return future

    def give_up(self, opaque: int) -> bool:
        """Stop waiting for a response; returns whether the request was still unanswered."""
        return self._futures is not None and self._futures.pop(opaque, None) is not None

    def settle(self, event: Answered | TimedOut | Abandoned, peer: str, why_closed: str) -> None:
        future = self._futures.pop(event.opaque, None) if self._futures is not None else None
        if future is None or future.done():
            return
        if isinstance(event, Answered):
            future.set_result(event.response)
        elif isinstance(event, TimedOut):
            future.set_exception(RequestTimeoutError(f"{peer} did not answer in time"))
        else:
            future.set_exception(
                ConnectionLostError(f"the connection to {peer} ended: {why_closed}")
            )
