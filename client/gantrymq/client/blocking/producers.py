"""Producers for programs without asyncio: the asyncio ones, waited for.

    with Producer("orders-service", name_servers="127.0.0.1:9876") as producer:
        result = producer.send(Message("orders", b"hello", tag="paid", keys=["4711"]))

Each method is documented at its namesake in `client.aio`. They may be called from any thread, but
for the client's own.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeVar, Unpack, final

from gantrymq.client.aio import producer, transaction_producer
from gantrymq.client.aio.producer_keywords import ProducerKeywords
from gantrymq.client.aio.sending_soon import Sending
from gantrymq.client.aio.sendings import Sendings
from gantrymq.client.blocking.facade import Facade, in_pool, waits
from gantrymq.client.blocking.handover import Handover
from gantrymq.client.core.errors import ClientError
from gantrymq.client.core.message import Message, as_bodies
from gantrymq.client.core.results import SendResult
from gantrymq.client.core.selecting import Selector
from gantrymq.client.core.shares import SendResults
from gantrymq.client.core.transactions import Checker, Local, TransactionResult
from gantrymq.wire.bodies.shared import MessageQueue

# Local transactions and checks at the same time: Java checks with one thread.
THREADS: Final = 4

# How long a program's end waits for messages that nobody waited for.
EXIT_S: Final = 5.0

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

log: Final = logging.getLogger("gantrymq.client")


class _Soon(NamedTuple):
    """What a thread gave to `send_soon`."""

    message: Message
    queue: MessageQueue | None
    select: Selector | None
    key: object
    future: Future[SendResult]


class _Many(NamedTuple):
    """What a thread gave to `send_soon_many`."""

    give: Callable[[], Sendings]
    future: Future[SendResults]


@final
class Producer(Facade[producer.Producer]):
    """Sends messages. See `aio.producer`."""

    def __init__(self, group: str, **keywords: Unpack[ProducerKeywords]) -> None:
        super().__init__(producer.Producer(group, **keywords))
        self._handover: Final = Handover(self._take)
        self._together: list[tuple[Future[SendResult], Sending]] = []

    def start(self) -> None:
        """Raises what the asyncio producer's `start` raises. What `send_soon` took is sent at the
        end of the program, should nobody `close` before: as far as that takes five seconds."""
        super().start()
        _started.add(self)

    def close(self) -> None:
        """Send what `send_soon` took, and say goodbye. Nothing happens the second time."""
        _started.discard(self)
        super().close()

    @property
    def waiting_bytes(self) -> int:
        """Of messages that `send_soon` took, and no broker has acknowledged."""
        return self.thread.call(lambda: self._member.waiting_bytes)

    def end(self) -> None:
        """At the program's end."""
        if not self.waiting_bytes:
            return
        log.warning(
            "the producer %s was not closed: what send_soon took is sent now; use `with`, or close",
            self._member.group,
        )
        try:
            self.thread.run(asyncio.wait_for(self._member.flush(), EXIT_S))
        except TimeoutError:
            log.warning(
                "%d bytes of messages were not sent by %s", self.waiting_bytes, self._member.group
            )

    send = waits(producer.Producer.send)
    send_oneway = waits(producer.Producer.send_oneway)
    send_batch = waits(producer.Producer.send_batch)
    room = waits(producer.Producer.room)
    flush = waits(producer.Producer.flush)
    request = waits(producer.Producer.request)
    recall = waits(producer.Producer.recall)
    queues = waits(producer.Producer.queues)

    def send_soon(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        select: Selector | None = None,
        key: object = None,
    ) -> Future[SendResult]:
        """With others of the next milliseconds. The future has the result, or what kept it from
        being sent - WaitingFullError where too many wait; it cannot be cancelled."""
        future: Future[SendResult] = Future()
        future.set_running_or_notify_cancel()
        self._handover.add(self.thread, _Soon(message, queue, select, key, future))
        return future

    def send_soon_many(
        self,
        topic: str,
        bodies: Iterable[bytes | str],
        *,
        tag: str = "",
        properties: Mapping[str, str] | None = None,
        flag: int = 0,
        wait_until_stored: bool = True,
        queue: MessageQueue | None = None,
    ) -> Future[SendResults]:
        """As at the asyncio producer, and the arguments are its own from now on. The future has the
        results, or what kept some of them from being sent: SomeUnsentError; MessageError and
        WaitingFullError when none was taken."""
        future: Future[SendResults] = Future()
        future.set_running_or_notify_cancel()
        give = partial(
            self._member.send_soon_many,
            topic,
            as_bodies(bodies),
            tag=tag,
            properties=properties if properties is None else dict(properties),
            flag=flag,
            wait_until_stored=wait_until_stored,
            queue=queue,
        )
        self._handover.add(self.thread, _Many(give, future))
        return future

    def _take(self, soon: _Soon | _Many) -> None:
        if isinstance(soon, _Soon):
            self._send_soon(soon)
            return
        try:
            sendings = soon.give()
        except Exception as error:  # as below
            soon.future.set_exception(error)
            return
        sendings.add_done_callback(partial(_settle, soon.future))

    def _send_soon(self, soon: _Soon) -> None:
        try:
            sending = self._member.send_soon(
                soon.message, queue=soon.queue, select=soon.select, key=soon.key
            )
        except Exception as error:  # of the caller, who has the future
            soon.future.set_exception(error)
            return
        if self._together and self._together[-1][1].joins(sending):
            self._together.append((soon.future, sending))
        else:
            self._together = [(soon.future, sending)]
            sending.add_done_callback(partial(_settle_all, self._together))


_started: set[Producer] = set()


@atexit.register
def _end_all() -> None:
    for each in tuple(_started):
        with suppress(ClientError):  # in a child of a fork, say
            each.end()


def _settle_all(together: list[tuple[Future[SendResult], Sending]], last: Sending) -> None:
    """A callback for each message would cost as much as sending it."""
    del last
    for future, sending in together:
        _settle(future, sending)


class _Settled(Protocol[R_co]):
    """What knows how it ended."""

    def result(self) -> R_co: ...


def _settle(future: Future[R], sending: _Settled[R]) -> None:
    try:
        result = sending.result()
    except Exception as error:  # as above
        future.set_exception(error)
    else:
        future.set_result(result)


@final
class TransactionProducer(Facade[transaction_producer.TransactionProducer]):
    """Sends messages in transactions; `check` and local transactions run in threads, and may
    block. See `aio.transaction_producer`."""

    def __init__(self, group: str, *, check: Checker, **keywords: Unpack[ProducerKeywords]) -> None:
        self._pool: Final = ThreadPoolExecutor(THREADS, "gantrymq-transaction")
        checked = in_pool(self._pool, check)
        super().__init__(transaction_producer.TransactionProducer(group, check=checked, **keywords))

    send = waits(transaction_producer.TransactionProducer.send)

    def send_in_transaction(
        self, message: Message, local: Local, argument: object = None
    ) -> TransactionResult:
        """`local(message, argument)` runs once the broker has the message; what it says decides.
        Raises what a send raises, when there is no such message: `local` did not run then."""
        called = in_pool(self._pool, local)
        return self.thread.run(self._member.send_in_transaction(message, called, argument))

    def close(self) -> None:
        """Nothing happens the second time."""
        try:
            super().close()
        finally:
            self._pool.shutdown(wait=False, cancel_futures=True)
