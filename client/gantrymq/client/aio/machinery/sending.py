"""Provides the awaitable that `send_async` returns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any, final

from gantrymq.client.core.message.results import SendResult
from gantrymq.client.core.send.producer_batch import Batch


@final
class Sending:
    """One message of a batch. Hot path, hence minimal: the batch has everything else.

    It can be awaited any number of times, and passed to `asyncio.gather`, `wait_for` and `shield`;
    for `asyncio.wait` convert it with `asyncio.ensure_future(sending)`. Cancelling a task that
    awaits it does not cancel the send.
    """

    __slots__ = ("_batch", "_index")

    def __init__(self, batch: Batch) -> None:
        """Represents the last message that was added to the batch."""
        self._batch = batch
        self._index = batch.count - 1

    def done(self) -> bool:
        return self._batch.is_over

    def joins(self, other: Sending) -> bool:
        """Tell whether both messages are in one batch, and so are done together."""
        return self._batch is other._batch

    def result(self) -> SendResult:
        """Return the result after it is `done`, or raise the failure."""
        if not self._batch.is_over:
            raise asyncio.InvalidStateError("no broker has acknowledged it yet: await it")
        return self._batch.result_of(self._index)

    def exception(self) -> Exception | None:
        """Return the failure after it is `done`; None if a broker has the message."""
        try:
            self.result()
        except asyncio.InvalidStateError:
            raise
        except Exception as error:  # returned to the caller
            return error
        return None

    def add_done_callback(self, callback: Callable[[Sending], None]) -> None:
        """Call `callback(self)` when it is done; immediately if it is done already."""
        self._batch.is_watched = True

        def call() -> None:
            try:
                callback(self)
            except Exception as error:  # as asyncio does: the batch has other waiters
                asyncio.get_running_loop().call_exception_handler(
                    {"message": f"{callback} of a message that was sent", "exception": error}
                )

        if self._batch.is_over:
            call()
        else:
            self._batch.ended.listen(call)

    # Any: what an asyncio future yields is private to it and its loop.
    def __await__(self) -> Generator[Any, None, SendResult]:
        batch = self._batch
        batch.is_watched = True
        if not batch.is_over:
            yield from over(batch)
        return batch.result_of(self._index)


# Any: as above.
def over(batch: Batch) -> Generator[Any, None, None]:
    """Wait until the batch is over; a cancelled waiter removes its listener."""
    if batch.is_over:
        return
    woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def wake() -> None:
        if not woken.done():
            woken.set_result(None)

    batch.ended.listen(wake)
    try:
        yield from woken
    finally:
        batch.ended.ignore(wake)
