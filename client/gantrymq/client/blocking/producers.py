"""Provides blocking producers, each of which runs the asyncio producer of the same name.

    with Producer("orders-service", name_servers="127.0.0.1:9876") as producer:
        result = producer.send(Message("orders", b"hello", tag="paid", keys=["4711"]))

Each method is documented at the method of the same name in `client.aio`. It can be called from any
thread except the client's own.
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
from gantrymq.client.aio.machinery.old_names import renamed_method
from gantrymq.client.aio.machinery.producer_keywords import ProducerKeywords
from gantrymq.client.blocking.async_sends import AsyncSends, ListSend, SingleSend
from gantrymq.client.blocking.facade import Facade, in_pool, waits
from gantrymq.client.blocking.handover import Handover
from gantrymq.client.blocking.unobserved_failures import SendFuture
from gantrymq.client.core.errors import ClientError
from gantrymq.client.core.message.message import Message, as_bodies
from gantrymq.client.core.message.results import SendResult
from gantrymq.client.core.producer.transactions import Checker, Local, TransactionResult
from gantrymq.client.core.send.batch_results import SendResults
from gantrymq.client.core.send.selecting import Selector
from gantrymq.wire.bodies.shared import MessageQueue

# Threads for local transactions and checks; Java checks with one thread.
THREADS: Final = 4

# How long the program's end waits for messages of producers that were not closed.
EXIT_S: Final = 5.0

log: Final = logging.getLogger("gantrymq.client")


@final
class Producer(Facade[producer.Producer]):
    """Sends messages. See `aio.producer`."""

    def __init__(self, group: str, **keywords: Unpack[ProducerKeywords]) -> None:
        super().__init__(producer.Producer(group, **keywords))
        self._async_sends: Final = AsyncSends(self._member)
        self._handover: Final = Handover[SingleSend | ListSend](self._async_sends)

    def start(self) -> None:
        """Start; raises what the asyncio producer's `start` raises. If the program ends without
        `close`, waiting messages of `send_async` are sent then, for at most five seconds."""
        super().start()
        _started.add(self)

    def close(self) -> None:
        """Send the waiting messages of `send_async`, then unregister. A second call does
        nothing."""
        _started.discard(self)
        try:
            self._end(self._close)
        finally:
            self._async_sends.log_failures()

    async def _close(self) -> None:
        """Wait up to `close_timeout_s` until all messages have found room, then the same time for
        acknowledgements."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._handover.received(), self._member.settings.close_timeout_s)
        await self._member.close()
        await self._handover.received()

    @property
    def waiting_bytes(self) -> int:
        """Bytes of messages that `send_async` accepted and no broker has acknowledged yet."""
        return self.thread.call(lambda: self._member.waiting_bytes)

    def end(self) -> None:
        """Send the waiting messages when the program ends without `close`."""
        if not self.waiting_bytes:
            return
        log.warning(
            "producer not closed group=%s: sending its waiting messages of send_async now;"
            " use `with`, or call close()",
            self._member.group,
        )
        try:
            self.thread.run(asyncio.wait_for(self._flush(), EXIT_S))
        except TimeoutError:
            log.warning(
                "messages not sent group=%s bytes=%d", self._member.group, self.waiting_bytes
            )

    send = waits(producer.Producer.send)
    send_oneway = waits(producer.Producer.send_oneway)
    send_batch = waits(producer.Producer.send_batch)
    room = waits(producer.Producer.room)
    request = waits(producer.Producer.request)
    recall = waits(producer.Producer.recall)
    queues = waits(producer.Producer.queues)

    def flush(self) -> None:
        """Wait until all messages that `send_async` accepted before are acknowledged or have
        failed."""
        self.thread.run(self._flush())

    async def _flush(self) -> None:
        await self._handover.received()
        await self._member.flush()

    def send_async(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        select: Selector | None = None,
        key: object = None,
    ) -> Future[SendResult]:
        """Add a message to a batch that is sent within milliseconds. If too many messages wait, the
        call waits for room. The future gets the result or the failure, and a failure is logged if
        the program does not look at the future. The future cannot be cancelled."""
        future = SendFuture[SendResult]()
        future.set_running_or_notify_cancel()
        self._handover.add(self.thread, SingleSend(message, queue, select, key, future))
        return future

    def send_async_many(
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
        """Send a message for each body, like the asyncio producer; the arguments are copied. The
        future gets the results, SomeUnsentError if some messages failed, or MessageError if none
        was accepted."""
        future = SendFuture[SendResults]()
        future.set_running_or_notify_cancel()
        accepted = as_bodies(bodies)
        start = partial(
            self._member.send_async_many,
            topic,
            accepted,
            tag=tag,
            properties=properties if properties is None else dict(properties),
            flag=flag,
            wait_until_stored=wait_until_stored,
            queue=queue,
        )
        self._handover.add(self.thread, ListSend(start, len(accepted), future))
        return future

    def send_soon(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        select: Selector | None = None,
        key: object = None,
    ) -> Future[SendResult]:
        """The old name of `send_async`; it will be removed in the next release."""
        renamed_method("send_soon", "send_async")
        return self.send_async(message, queue=queue, select=select, key=key)

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
        """The old name of `send_async_many`; it will be removed in the next release."""
        renamed_method("send_soon_many", "send_async_many")
        return self.send_async_many(
            topic,
            bodies,
            tag=tag,
            properties=properties,
            flag=flag,
            wait_until_stored=wait_until_stored,
            queue=queue,
        )


_started: set[Producer] = set()


@atexit.register
def _end_all() -> None:
    for each in tuple(_started):
        with suppress(ClientError):  # for example in a forked child
            each.end()


@final
class TransactionProducer(Facade[transaction_producer.TransactionProducer]):
    """Sends messages in transactions. `check` and local transactions run in threads, where they can
    block. See `aio.transaction_producer`."""

    def __init__(self, group: str, *, check: Checker, **keywords: Unpack[ProducerKeywords]) -> None:
        self._pool: Final = ThreadPoolExecutor(THREADS, "gantrymq-transaction")
        checked = in_pool(self._pool, check)
        super().__init__(transaction_producer.TransactionProducer(group, check=checked, **keywords))

    send = waits(transaction_producer.TransactionProducer.send)

    def send_in_transaction(
        self, message: Message, local: Local, argument: object = None
    ) -> TransactionResult:
        """Send a half message, then call `local(message, argument)`, whose result commits or rolls
        back. If the send fails, its error is raised and `local` is not called."""
        called = in_pool(self._pool, local)
        return self.thread.run(self._member.send_in_transaction(message, called, argument))

    def close(self) -> None:
        """Close the producer. A second call does nothing."""
        try:
            super().close()
        finally:
            self._pool.shutdown(wait=False, cancel_futures=True)
