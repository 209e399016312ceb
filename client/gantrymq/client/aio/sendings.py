"""Messages that `send_soon_many` took: awaited, they are the messages' SendResults."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from typing import Any, final

from gantrymq.client.aio.sending_soon import over
from gantrymq.client.core.lingering import Share
from gantrymq.client.core.shares import SendResults, results_of


@final
class Sendings:
    """All messages of one call: they are done when the last one is.

    It can be awaited any number of times, and by whatever awaits a `Sending`. Whoever is cancelled
    while awaiting it no longer waits: the messages are sent all the same.
    """

    __slots__ = ("_shares",)

    def __init__(self, shares: Sequence[Share]) -> None:
        self._shares = shares

    def __len__(self) -> int:
        return sum(share.count for share in self._shares)

    def done(self) -> bool:
        return all(share.batch.is_over for share in self._shares)

    def result(self) -> SendResults:
        """Once they are `done`; raises SomeUnsentError."""
        if not self.done():
            raise asyncio.InvalidStateError("brokers have not acknowledged all: await them")
        return results_of(self._shares)

    def add_done_callback(self, callback: Callable[[Sendings], None]) -> None:
        """Called with this, once they are done; at once when they are."""

        def call() -> None:
            try:
                callback(self)
            except Exception as error:  # as asyncio does: others wait for these batches, too
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

    # Any: what a future of asyncio yields is between it and its loop.
    def __await__(self) -> Generator[Any, None, SendResults]:
        self._be_watched()
        for share in reversed(self._shares):
            yield from over(share.batch)
        return results_of(self._shares)

    def _be_watched(self) -> None:
        """Who waits sees the errors: they need not be logged."""
        for share in self._shares:
            share.batch.is_watched = True
