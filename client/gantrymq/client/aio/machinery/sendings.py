"""Provides the awaitable that `send_async_many` returns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from typing import Any, final

from gantrymq.client.aio.machinery.sending import over
from gantrymq.client.core.send.batch_results import SendResults, results_of
from gantrymq.client.core.send.producer_batch import Share


@final
class Sendings:
    """All messages of one call; it is done when the last of them is.

    It can be awaited any number of times, in the same ways as a `Sending`. Cancelling a task that
    awaits it does not cancel the sends.
    """

    __slots__ = ("_shares",)

    def __init__(self, shares: Sequence[Share]) -> None:
        self._shares = shares

    def __len__(self) -> int:
        return sum(share.count for share in self._shares)

    def done(self) -> bool:
        return all(share.batch.is_over for share in self._shares)

    def result(self) -> SendResults:
        """Return the results after they are `done`; raises SomeUnsentError."""
        if not self.done():
            raise asyncio.InvalidStateError("brokers have not acknowledged all: await them")
        return results_of(self._shares)

    def add_done_callback(self, callback: Callable[[Sendings], None]) -> None:
        """Call `callback(self)` when they are done; immediately if they are done already."""

        def call() -> None:
            try:
                callback(self)
            except Exception as error:  # as asyncio does: the batches have other waiters
                asyncio.get_running_loop().call_exception_handler(
                    {"message": f"{callback} of messages that were sent", "exception": error}
                )

        self._be_watched()
        batches = [share.batch for share in self._shares]

        def look() -> None:
            while batches and batches[-1].is_over:
                batches.pop()
            if batches:
                batches[-1].ended.listen(look)
            else:
                call()

        look()

    # Any: what an asyncio future yields is private to it and its loop.
    def __await__(self) -> Generator[Any, None, SendResults]:
        self._be_watched()
        for share in reversed(self._shares):
            yield from over(share.batch)
        return results_of(self._shares)

    def _be_watched(self) -> None:
        """Mark the batches: the waiter sees their errors, so they are not logged."""
        for share in self._shares:
            share.batch.is_watched = True
