"""A message that `send_soon` took: awaited, it is the message's SendResult."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any, final

from gantrymq.client.core.lingering import Batch
from gantrymq.client.core.results import SendResult


@final
class Sending:
    """One message of a batch. Hot, hence so little: the batch knows the rest.

    It can be awaited any number of times, and given to `asyncio.gather`, `wait_for` and `shield`;
    for `asyncio.wait` make it a future: `asyncio.ensure_future(sending)`. Whoever is cancelled
    while awaiting it no longer waits: the message is sent all the same.
    """

    __slots__ = ("_batch", "_index")

    def __init__(self, batch: Batch) -> None:
        """The last one that was added to the batch."""
        self._batch = batch
        self._index = batch.count - 1

    def done(self) -> bool:
        return self._batch.is_over

    def joins(self, other: Sending) -> bool:
        """Whether both leave in one request, and so are done together."""
        return self._batch is other._batch

    def result(self) -> SendResult:
        """Once it is `done`; raises what became of it."""
        if not self._batch.is_over:
            raise asyncio.InvalidStateError("no broker has acknowledged it yet: await it")
        return self._batch.result_of(self._index)

    def exception(self) -> Exception | None:
        """What kept it from being sent, once it is `done`; None when a broker has it."""
        try:
            self.result()
        except asyncio.InvalidStateError:
            raise
        except Exception as error:  # the caller asks for it
            return error
        return None

    def add_done_callback(self, callback: Callable[[Sending], None]) -> None:
        """Called with this, once it is done; at once when it is."""
        self._batch.is_watched = True

        def call() -> None:
            try:
                callback(self)
            except Exception as error:  # as asyncio does: others wait for this batch, too
                asyncio.get_running_loop().call_exception_handler(
                    {"message": f"{callback} of a message that was sent", "exception": error}
                )

        if self._batch.is_over:
            call()
        else:
            self._batch.ended.listen(call)

    # Any: what a future of asyncio yields is between it and its loop.
    def __await__(self) -> Generator[Any, None, SendResult]:
        batch = self._batch
        batch.is_watched = True
        if not batch.is_over:
            yield from over(batch)
        return batch.result_of(self._index)


# Any: as above.
def over(batch: Batch) -> Generator[Any, None, None]:
    """Until it is; who is cancelled meanwhile leaves nothing behind."""
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
