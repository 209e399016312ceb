"""Producer: sends messages, on asyncio. The work is done by flows of `client.core`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Unpack, final

from gantrymq.client.aio.membership import Startable
from gantrymq.client.aio.producer_host import ProducerHost
from gantrymq.client.aio.producer_keywords import ProducerKeywords
from gantrymq.client.aio.sending_soon import Sending
from gantrymq.client.aio.sendings import Sendings
from gantrymq.client.aio.world import REAL, World
from gantrymq.client.core import requests
from gantrymq.client.core.message import Message, as_bodies
from gantrymq.client.core.producer_settings import ProducerSettings
from gantrymq.client.core.received import ReceivedMessage
from gantrymq.client.core.results import SendResult
from gantrymq.client.core.selecting import Selector
from gantrymq.client.core.sending import SendMode
from gantrymq.wire.bodies.shared import MessageQueue


@final
class Producer(Startable):
    """Sends messages.

    async with Producer("orders-service", name_servers="127.0.0.1:9876") as producer:
        result = await producer.send(Message("orders", b"hello", tag="paid", keys=["4711"]))

    Settings are keywords (`ProducerSettings`, `ClientSettings`); those that are not given come
    from `properties_file` and the environment (NAMESRV_ADDR).
    """

    def __init__(
        self, group: str, *, world: World = REAL, **keywords: Unpack[ProducerKeywords]
    ) -> None:
        """Raises StateError for a group that no producer may have, ConfigurationError."""
        self._host = ProducerHost(group, world, keywords)

    @property
    def group(self) -> str:
        return self._host.group

    @property
    def settings(self) -> ProducerSettings:
        return self._host.settings

    async def start(self) -> None:
        """Raises StateError when it was started before, or another one has the group."""
        await self._host.start()

    async def close(self) -> None:
        """Sends what `send_soon` took, and says goodbye. Nothing happens the second time."""
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
        """Until a broker has it. Raises SendError when every try failed, BrokerError when a broker
        refused it for good, MessageError when none would take it, RouteError.

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
        """Off it goes; nobody knows whether it arrives."""
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
        """Messages of one topic, all of them or none; `split` divides what is too much for one.

        for part in split(messages):
            await producer.send_batch(part)
        """
        return await self._host.run(
            self._host.member.send_batch(messages, queue=queue, timeout_s=timeout_s)
        )

    def send_soon(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        select: Selector | None = None,
        key: object = None,
    ) -> Sending:
        """With others of the next milliseconds, which is the fastest way; awaited, it is the
        SendResult. A selector must be a plain function. Raises WaitingFullError when too many wait.

        sendings = [producer.send_soon(message) for message in messages]
        results = [await sending for sending in sendings]
        """
        return Sending(self._host.member_here.send_soon(message, queue, select, key))

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
        """A message of each body, as `send_soon` takes one: the cheapest way for lists. All of them
        are taken, or none: raises MessageError, WaitingFullError. Awaited, it has their
        SendResults in their order, or raises SomeUnsentError, which knows which ones failed.

        sendings = producer.send_soon_many("orders", bodies, tag="paid")
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
        return Sendings(self._host.member_here.send_soon_many(pattern, taken, queue))

    @property
    def waiting_bytes(self) -> int:
        """Of messages that `send_soon` took, and no broker has acknowledged."""
        return self._host.member.lingering.waiting_bytes

    async def room(self) -> None:
        """Until `send_soon` may be given more, should too much wait for its acknowledgement: until
        a sixteenth of `waiting_bytes_max` is free."""
        await self._host.run(self._host.member.lingering.room())

    async def flush(self) -> None:
        """Until everything that `send_soon` took before is acknowledged, or has failed."""
        await self._host.run(self._host.member.lingering.flush())

    async def request(
        self,
        message: Message,
        *,
        timeout_s: float = 3.0,
        queue: MessageQueue | None = None,
        select: Selector | None = None,
        key: object = None,
    ) -> ReceivedMessage:
        """The reply of whoever consumes it: see `reply`. Raises NoReplyError."""
        flow = requests.ask(
            self._host.member, message, timeout_s, queue=queue, select=select, key=key
        )
        return await self._host.run(flow)

    async def recall(self, result: SendResult) -> str:
        """Take a delayed message back before it is due (5.x brokers); its id."""
        return await self._host.run(self._host.member.recall(result))

    async def queues(self, topic: str) -> list[MessageQueue]:
        """Those that messages of the topic are sent to."""
        return await self._host.run(self._host.member.queues(topic))
