"""Provides the producer on asyncio, which runs flows of `client.core`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Unpack, final

from gantrymq.client.aio.machinery.environment import REAL, Environment
from gantrymq.client.aio.machinery.old_names import renamed_environment, renamed_method
from gantrymq.client.aio.machinery.producer_keywords import ProducerKeywords
from gantrymq.client.aio.machinery.sending import Sending
from gantrymq.client.aio.machinery.sendings import Sendings
from gantrymq.client.aio.membership import Startable
from gantrymq.client.aio.producer_host import ProducerHost
from gantrymq.client.core.message.message import Message, as_bodies
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.message.results import SendResult
from gantrymq.client.core.producer import requests
from gantrymq.client.core.send.producer_settings import ProducerSettings
from gantrymq.client.core.send.selecting import Selector
from gantrymq.client.core.send.sending import SendMode
from gantrymq.wire.bodies.shared import MessageQueue


@final
class Producer(Startable):
    """Sends messages.

        async with Producer("orders-service", name_servers="127.0.0.1:9876") as producer:
            result = await producer.send(Message("orders", b"hello", tag="paid", keys=["4711"]))

    Settings are keywords (`ProducerSettings`, `ClientSettings`). Settings that are not given come
    from `properties_file` and the environment (NAMESRV_ADDR).
    """

    def __init__(
        self,
        group: str,
        *,
        environment: Environment = REAL,
        world: Environment | None = None,
        **keywords: Unpack[ProducerKeywords],
    ) -> None:
        """Raises StateError for a group name that is not allowed, and ConfigurationError. `world`
        is the old name of `environment`."""
        self._host = ProducerHost(group, renamed_environment(environment, world), keywords)

    @property
    def group(self) -> str:
        return self._host.group

    @property
    def settings(self) -> ProducerSettings:
        return self._host.settings

    async def start(self) -> None:
        """Start; raises StateError if it was started before, or if another producer has the
        group."""
        await self._host.start()

    async def close(self) -> None:
        """Send the waiting messages of `send_async`, then unregister. A second call does
        nothing."""
        await self._host.close()

    # ------------------------------------------------------------------ sending

    async def send(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        select: Selector | None = None,
        key: object = None,
        mode: SendMode = SendMode.SYNC,
        timeout_s: float | None = None,
    ) -> SendResult:
        """Send a message and wait until a broker has it. Raises SendError if every attempt failed,
        BrokerError if a broker refused it permanently, MessageError if the message is invalid,
        RouteError.

            await producer.send(message, select=by_key, key="order 4711")
        """
        flow = self._host.member.send(
            message, queue=queue, select=select, key=key, mode=mode, timeout_s=timeout_s
        )
        return await self._host.run(flow)

    async def send_oneway(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        select: Selector | None = None,
        key: object = None,
    ) -> None:
        """Send a message without waiting for a response; it may be lost."""
        await self._host.run(
            self._host.member.send_oneway(message, queue=queue, select=select, key=key)
        )

    async def send_batch(
        self,
        messages: Sequence[Message],
        *,
        queue: MessageQueue | None = None,
        timeout_s: float | None = None,
    ) -> SendResult:
        """Send messages of one topic, all of them or none; `split` divides a list that is too
        large.

            for part in split(messages):
                await producer.send_batch(part)
        """
        return await self._host.run(
            self._host.member.send_batch(messages, queue=queue, timeout_s=timeout_s)
        )

    def send_async(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        select: Selector | None = None,
        key: object = None,
    ) -> Sending:
        """Add a message to a batch that is sent within milliseconds, which is the fastest way.
        Awaiting the Sending gives the SendResult. A selector must be a plain function. Raises
        WaitingFullError if too many messages wait.

            sendings = [producer.send_async(message) for message in messages]
            results = [await sending for sending in sendings]
        """
        return Sending(self._host.member_here.send_async(message, queue, select, key))

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
    ) -> Sendings:
        """Send a message for each body like `send_async`, which is the cheapest way for lists.
        Accepts all bodies, or accepts none and raises MessageError or WaitingFullError. Awaiting
        the Sendings gives their SendResults in order, or raises SomeUnsentError, which has the
        positions of the messages that failed.

            sendings = producer.send_async_many("orders", bodies, tag="paid")
            results = await sendings
        """
        pattern = Message(
            topic,
            b"",
            tag=tag,
            properties=properties,
            flag=flag,
            wait_until_stored=wait_until_stored,
        )
        taken = as_bodies(bodies)
        return Sendings(self._host.member_here.send_async_many(pattern, taken, queue))

    def send_soon(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        select: Selector | None = None,
        key: object = None,
    ) -> Sending:
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
    ) -> Sendings:
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

    @property
    def waiting_bytes(self) -> int:
        """Bytes of messages that `send_async` took and no broker has acknowledged yet."""
        return self._host.member.accumulator.waiting_bytes

    async def room(self) -> None:
        """Wait until `send_async` may take more messages: until a sixteenth of `waiting_bytes_max`
        is free."""
        await self._host.run(self._host.member.accumulator.room())

    async def flush(self) -> None:
        """Wait until everything that `send_async` took before is acknowledged or has failed."""
        await self._host.run(self._host.member.accumulator.flush())

    async def request(
        self,
        message: Message,
        *,
        timeout_s: float = 3.0,
        queue: MessageQueue | None = None,
        select: Selector | None = None,
        key: object = None,
    ) -> ReceivedMessage:
        """Send a request and return the consumer's reply: see `reply`. Raises NoReplyError."""
        flow = requests.ask(
            self._host.member, message, timeout_s, queue=queue, select=select, key=key
        )
        return await self._host.run(flow)

    async def recall(self, result: SendResult) -> str:
        """Recall a delayed message before it is due (5.x brokers); returns its id."""
        return await self._host.run(self._host.member.recall(result))

    async def queues(self, topic: str) -> list[MessageQueue]:
        """Return the queues to which messages of the topic are sent."""
        return await self._host.run(self._host.member.queues(topic))
