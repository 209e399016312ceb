"""What threads gave to `send_soon` and `send_soon_many`, on the loop: given to the producer there.

Invariant: each future ends once: with the results, or with what kept messages from being sent,
which is logged when nobody looks at the future.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol, TypeAlias, TypeVar, final

from gantrymq.client.aio.machinery.sending_soon import Sending
from gantrymq.client.aio.machinery.sendings import Sendings
from gantrymq.client.aio.producer import Producer
from gantrymq.client.blocking.unseen import SoonFuture, Unseen
from gantrymq.client.core.errors import StateError
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.message.results import SendResult
from gantrymq.client.core.send.batch_results import SendResults, SomeUnsentError
from gantrymq.client.core.send.selecting import Selector
from gantrymq.wire.bodies.shared import MessageQueue

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class One(NamedTuple):
    """Of `send_soon`."""

    message: Message
    queue: MessageQueue | None
    select: Selector | None
    key: object
    future: SoonFuture[SendResult]


class Many(NamedTuple):
    """Of `send_soon_many`."""

    give: Callable[[], Sendings]
    messages: int
    future: SoonFuture[SendResults]


_Together: TypeAlias = list[tuple[SoonFuture[SendResult], Sending]]


@final
class Soon:
    """Of one producer. See `handover.Taker`."""

    def __init__(self, member: Producer) -> None:
        self._member = member
        self._bytes_max = member.settings.waiting_bytes_max
        self._unseen = Unseen()
        self._together: _Together = []

    @property
    def is_full(self) -> bool:
        try:
            return self._member.waiting_bytes >= self._bytes_max
        except StateError:  # it is not started: the future is told so
            return False

    async def room(self) -> None:
        await self._member.room()

    def take(self, given: One | Many) -> None:
        if isinstance(given, One):
            self._take_one(given)
            return
        try:
            sendings = given.give()
        except Exception as error:  # as below
            self._refuse(given.future, given.messages, error)
            return
        sendings.add_done_callback(partial(self._settle_many, given))

    def _take_one(self, given: One) -> None:
        try:
            sending = self._member.send_soon(
                given.message, queue=given.queue, select=given.select, key=given.key
            )
        except Exception as error:  # of the caller, who has the future
            self._refuse(given.future, 1, error)
            return
        if self._together and self._together[-1][1].joins(sending):
            self._together.append((given.future, sending))
        else:
            self._together = [(given.future, sending)]
            sending.add_done_callback(partial(self._settle_all, self._together))

    def tell(self) -> None:
        """At the end: what was not told yet."""
        self._unseen.tell()

    # ------------------------------------------------------------------ how they ended

    def _settle_all(self, together: _Together, last: Sending) -> None:
        """A callback for each message would cost as much as sending it."""
        del last
        unseen, failure = 0, None
        for future, sending in together:
            is_watched = future.is_watched
            error = _settle(future, sending)
            if error is not None and not is_watched:
                unseen, failure = unseen + 1, error
        if failure is not None:
            self._unseen.add(unseen, failure)

    def _settle_many(self, given: Many, sendings: Sendings) -> None:
        is_watched = given.future.is_watched
        error = _settle(given.future, sendings)
        if error is not None and not is_watched:
            some = error.failed if isinstance(error, SomeUnsentError) else range(given.messages)
            self._unseen.add(len(some), error)

    def _refuse(self, future: SoonFuture[R], count: int, error: Exception) -> None:
        if not future.is_watched:
            self._unseen.add(count, error)
        future.set_exception(error)


class _Settled(Protocol[R_co]):
    """What knows how it ended."""

    def result(self) -> R_co: ...


def _settle(future: SoonFuture[R], sending: _Settled[R]) -> Exception | None:
    """What kept it from being sent."""
    try:
        result = sending.result()
    except Exception as error:  # of the caller, who has the future
        future.set_exception(error)
        return error
    future.set_result(result)
    return None
