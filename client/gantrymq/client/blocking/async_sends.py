"""Passes messages that threads gave to `send_async` to the asyncio producer, on the event loop.

Invariant: each future is completed exactly once, with the results or with the failure. A failure is
logged if the program does not look at the future.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol, TypeAlias, TypeVar, final

from gantrymq.client.aio.machinery.sending import Sending
from gantrymq.client.aio.machinery.sendings import Sendings
from gantrymq.client.aio.producer import Producer
from gantrymq.client.blocking.unobserved_failures import SendFuture, UnobservedFailures
from gantrymq.client.core.errors import StateError
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.message.results import SendResult
from gantrymq.client.core.send.batch_results import SendResults, SomeUnsentError
from gantrymq.client.core.send.selecting import Selector
from gantrymq.wire.bodies.shared import MessageQueue

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class SingleSend(NamedTuple):
    """One call of `send_async`."""

    message: Message
    queue: MessageQueue | None
    select: Selector | None
    key: object
    future: SendFuture[SendResult]


class ListSend(NamedTuple):
    """One call of `send_async_many`; `start` gives the messages to the asyncio producer."""

    start: Callable[[], Sendings]
    messages: int
    future: SendFuture[SendResults]


_SameBatch: TypeAlias = list[tuple[SendFuture[SendResult], Sending]]


@final
class AsyncSends:
    """The `send_async` calls of one blocking producer. It implements `handover.Receiver`, so all
    its methods run on the event loop."""

    def __init__(self, member: Producer) -> None:
        self._member = member
        self._bytes_max = member.settings.waiting_bytes_max
        self._unobserved = UnobservedFailures()
        self._same_batch: _SameBatch = []

    @property
    def is_full(self) -> bool:
        try:
            return self._member.waiting_bytes >= self._bytes_max
        except StateError:  # not started: `receive` puts the error into the future
            return False

    async def room(self) -> None:
        await self._member.room()

    def receive(self, item: SingleSend | ListSend) -> None:
        if isinstance(item, SingleSend):
            self._send_one(item)
            return
        try:
            sendings = item.start()
        except Exception as error:  # the future carries it to the caller
            self._refuse(item.future, item.messages, error)
            return
        sendings.add_done_callback(partial(self._complete_list, item))

    def _send_one(self, item: SingleSend) -> None:
        try:
            sending = self._member.send_async(
                item.message, queue=item.queue, select=item.select, key=item.key
            )
        except Exception as error:  # the future carries it to the caller
            self._refuse(item.future, 1, error)
            return
        if self._same_batch and self._same_batch[-1][1].joins(sending):
            self._same_batch.append((item.future, sending))
        else:
            self._same_batch = [(item.future, sending)]
            sending.add_done_callback(partial(self._complete_batch, self._same_batch))

    def log_failures(self) -> None:
        """Log the unobserved failures that are not logged yet; called when the producer closes."""
        self._unobserved.log_now()

    # ------------------------------------------------------------------ completion

    def _complete_batch(self, same_batch: _SameBatch, last: Sending) -> None:
        """Complete the futures of one batch in one callback. A callback for each message would cost
        as much as the send."""
        del last
        count, failure = 0, None
        for future, sending in same_batch:
            is_observed = future.is_observed
            error = _complete(future, sending)
            if error is not None and not is_observed:
                count, failure = count + 1, error
        if failure is not None:
            self._unobserved.add(count, failure)

    def _complete_list(self, item: ListSend, sendings: Sendings) -> None:
        is_observed = item.future.is_observed
        error = _complete(item.future, sendings)
        if error is not None and not is_observed:
            failed = error.failed if isinstance(error, SomeUnsentError) else range(item.messages)
            self._unobserved.add(len(failed), error)

    def _refuse(self, future: SendFuture[R], count: int, error: Exception) -> None:
        if not future.is_observed:
            self._unobserved.add(count, error)
        future.set_exception(error)


class _Completed(Protocol[R_co]):
    """A send that is over; `result` returns its result or raises its failure."""

    def result(self) -> R_co: ...


def _complete(future: SendFuture[R], sending: _Completed[R]) -> Exception | None:
    """Complete the future; return the failure, if there is one."""
    try:
        result = sending.result()
    except Exception as error:  # the future carries it to the caller
        future.set_exception(error)
        return error
    future.set_result(result)
    return None
