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
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Final, Unpack, final

from gantrymq.client.aio import producer, transaction_producer
from gantrymq.client.aio.machinery.producer_keywords import ProducerKeywords
from gantrymq.client.blocking.facade import Facade, in_pool, waits
from gantrymq.client.blocking.handover import Handover
from gantrymq.client.blocking.soon import Many, One, Soon
from gantrymq.client.blocking.unseen import SoonFuture
from gantrymq.client.core.errors import ClientError
from gantrymq.client.core.message.message import Message, as_bodies
from gantrymq.client.core.message.results import SendResult
from gantrymq.client.core.producer.transactions import Checker, Local, TransactionResult
from gantrymq.client.core.send.batch_results import SendResults
from gantrymq.client.core.send.selecting import Selector
from gantrymq.wire.bodies.shared import MessageQueue

# Local transactions and checks at the same time: Java checks with one thread.
THREADS: Final = 4

# How long a program's end waits for messages that nobody waited for.
EXIT_S: Final = 5.0

log: Final = logging.getLogger("gantrymq.client")


@final
class Producer(Facade[producer.Producer]):
    """Sends messages. See `aio.producer`."""

    def __init__(self, group: str, **keywords: Unpack[ProducerKeywords]) -> None:
        super().__init__(producer.Producer(group, **keywords))
        self._soon: Final = Soon(self._member)
        self._handover: Final = Handover[One | Many](self._soon)

    def start(self) -> None:
        """Raises what the asyncio producer's `start` raises. What `send_soon` took is sent at the
        end of the program, should nobody `close` before: as far as that takes five seconds."""
        super().start()
        _started.add(self)

    def close(self) -> None:
        """Send what `send_soon` took, and say goodbye. Nothing happens the second time."""
        _started.discard(self)
        try:
            self._end(self._close)
        finally:
            self._soon.tell()

    async def _close(self) -> None:
        """What found no room yet has as much time for it as what has to be acknowledged."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._handover.taken(), self._member.settings.close_timeout_s)
        await self._member.close()
        await self._handover.taken()

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
            self.thread.run(asyncio.wait_for(self._flush(), EXIT_S))
        except TimeoutError:
            log.warning(
                "%d bytes of messages were not sent by %s", self.waiting_bytes, self._member.group
            )

    send = waits(producer.Producer.send)
    send_oneway = waits(producer.Producer.send_oneway)
    send_batch = waits(producer.Producer.send_batch)
    room = waits(producer.Producer.room)
    request = waits(producer.Producer.request)
    recall = waits(producer.Producer.recall)
    queues = waits(producer.Producer.queues)

    def flush(self) -> None:
        """Until everything that `send_soon` took before is acknowledged, or has failed."""
        self.thread.run(self._flush())

    async def _flush(self) -> None:
        await self._handover.taken()
        await self._member.flush()

    def send_soon(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        select: Selector | None = None,
        key: object = None,
    ) -> Future[SendResult]:
        """With others of the next milliseconds; where too many wait, once there is room. The future
        has the result, or what kept it from being sent, which is logged when nobody waits for it by
        then; it cannot be cancelled."""
        future = SoonFuture[SendResult]()
        future.set_running_or_notify_cancel()
        self._handover.add(self.thread, One(message, queue, select, key, future))
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
        results, or what kept some of them from being sent: SomeUnsentError; MessageError when none
        was taken."""
        future = SoonFuture[SendResults]()
        future.set_running_or_notify_cancel()
        taken = as_bodies(bodies)
        give = partial(
            self._member.send_soon_many,
            topic,
            taken,
            tag=tag,
            properties=properties if properties is None else dict(properties),
            flag=flag,
            wait_until_stored=wait_until_stored,
            queue=queue,
        )
        self._handover.add(self.thread, Many(give, len(taken), future))
        return future


_started: set[Producer] = set()


@atexit.register
def _end_all() -> None:
    for each in tuple(_started):
        with suppress(ClientError):  # in a child of a fork, say
            each.end()


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
