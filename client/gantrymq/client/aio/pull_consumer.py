"""A consumer that is asked for messages, on asyncio: Java's DefaultLitePullConsumer.

    async with PullConsumer("readers", name_servers="127.0.0.1:9876") as consumer:
        consumer.subscribe("orders", "paid || shipped")
        async for message in consumer:
            print(message.topic, message.body)

Every method says what it does in `core.lite_pull`; this module only waits for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from types import TracebackType
from typing import Self, TypeVar, Unpack, final

from gantrymq.client.aio.configuration import ClientKeywords, choose
from gantrymq.client.aio.consumer_names import LITE_NAMES
from gantrymq.client.aio.membership import Membership, Startable
from gantrymq.client.aio.process import offsets_folder
from gantrymq.client.aio.subscribing import must_be_possible
from gantrymq.client.aio.world import REAL, World
from gantrymq.client.core import namespace
from gantrymq.client.core.allocation import Allocate
from gantrymq.client.core.errors import MessageError
from gantrymq.client.core.instance import Instance
from gantrymq.client.core.lite_pull import LitePull
from gantrymq.client.core.lite_queue import Buffering
from gantrymq.client.core.lite_settings import LiteSettings
from gantrymq.client.core.message import GROUP_CHARACTERS_MAX, name_fault
from gantrymq.client.core.offset_store import offset_store
from gantrymq.client.core.received import ReceivedMessage
from gantrymq.client.core.start_offset import ConsumeFrom
from gantrymq.client.core.steps import Flow
from gantrymq.client.core.subscriptions import EVERYTHING, Expression
from gantrymq.client.core.topic_watch import QueuesChanged
from gantrymq.wire.bodies.shared import MessageQueue

T = TypeVar("T")


class PullOptions(ClientKeywords, total=False):
    """Keywords of LiteSettings, next to those of the client."""

    pull_batch: int
    auto_commit: bool
    auto_commit_s: float
    poll_timeout_s: float
    queue_check_s: float
    broadcasting: bool
    consume_from: ConsumeFrom
    consume_timestamp_ms: int | None
    buffering: Buffering
    allocate: Allocate


@final
class PullConsumer(Startable):
    """`async with`, or `start` and `close`. `subscribe` topics or `assign` queues, then `poll` or
    iterate.

    Progress is stored every few seconds (`auto_commit`), of what the application came back from:
    when the process dies, what was handed out last is handed out again.
    """

    def __init__(
        self,
        group: str,
        *,
        world: World = REAL,
        **options: Unpack[PullOptions],
    ) -> None:
        """No I/O yet. The options are those of the client (name_servers, access_key and so on) and
        of LiteSettings (auto_commit, pull_batch, consume_from and so on). Raises
        ConfigurationError."""
        fault = name_fault("group", group, GROUP_CHARACTERS_MAX)
        if fault is not None:
            raise MessageError(fault)
        chosen = choose(LiteSettings, LITE_NAMES, options)
        client_settings, identity, self._settings = chosen
        self._membership: Membership[LitePull] = Membership(
            "lite pull consumer", client_settings, identity, world
        )
        self._namespace = client_settings.namespace
        self._group = namespace.wrap(self._namespace, group)
        self._early: list[tuple[str, Expression]] = []
        self._listeners: list[tuple[str, QueuesChanged]] = []

    # ------------------------------------------------------------------ life

    async def start(self) -> None:
        """Raises StateError when it was started before, or its group is taken in this client."""
        await self._membership.enter(self._make)

    def _make(self, instance: Instance) -> LitePull:
        folder = offsets_folder() if self._settings.broadcasting else None
        offsets = offset_store(instance, self._group, folder)
        lite = LitePull(instance, self._group, self._settings, offsets)
        for topic, expression in self._early:
            lite.subscribe(topic, expression)
        for topic, listener in self._listeners:
            lite.on_queues_changed(topic, listener)
        return lite

    async def close(self, *, commit: bool = True) -> None:
        """Store the progress and leave the group; with `commit` that of what was handed out last
        as well. Closing twice does nothing."""
        await self._membership.close(lambda lite: lite.close(commit=commit))

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """What was handed out last is done, unless the block failed."""
        await self.close(commit=error is None)

    # ------------------------------------------------------------------ which queues

    def subscribe(self, topic: str, expression: Expression = EVERYTHING) -> None:
        """Share the topic with the group: `"*"`, `"paid || shipped"`, `Sql("price > 3")`. What only
        a broker can refuse is raised by the next `poll`. Raises SubscriptionError."""
        must_be_possible(topic, expression)
        wrapped = namespace.wrap(self._namespace, topic)
        lite = self._membership.started
        if lite is None:
            self._early.append((wrapped, expression))
        else:
            lite.subscribe(wrapped, expression)

    def unsubscribe(self, topic: str) -> None:
        """Take no more messages of the topic."""
        self._lite.unsubscribe(namespace.wrap(self._namespace, topic))

    async def assign(
        self, queues: Iterable[MessageQueue], expression: Expression = EVERYTHING
    ) -> None:
        """Read these queues and no others, whoever else reads them; those that stay go on."""
        await self._run(self._lite.assign(queues, expression))

    @property
    def assignment(self) -> list[MessageQueue]:
        """The queues it reads now."""
        return self._lite.assignment

    async def fetch_message_queues(self, topic: str) -> list[MessageQueue]:
        """All queues of a topic that can be read; raises RouteError when nobody knows it."""
        wrapped = namespace.wrap(self._namespace, topic)
        return await self._run(self._lite.queues_of(wrapped))

    def on_queues_changed(self, topic: str, listener: QueuesChanged) -> None:
        """Call `listener(topic, queues)`, plain or async, when a topic has other queues."""
        wrapped = namespace.wrap(self._namespace, topic)
        lite = self._membership.started
        if lite is None:
            self._listeners.append((wrapped, listener))
        else:
            lite.on_queues_changed(wrapped, listener)

    # ------------------------------------------------------------------ messages

    async def poll(self, timeout_s: float | None = None) -> list[ReceivedMessage]:
        """Messages of one queue, as one pull brought them; an empty list when none come in time.

        Coming back says that the messages of the last call are done: so one task polls, and what
        others work at is committed by `commit` (auto_commit=False). Raises StateError while another
        task polls."""
        lite = self._membership.member_here
        # What is there is handed over without a step of the event loop.
        messages = lite.at_hand() or await self._run(lite.poll(timeout_s))
        return self._unwrapped(messages) if self._namespace else messages

    def __aiter__(self) -> Self:
        """One message after the other, until the consumer is closed."""
        return self

    async def __anext__(self) -> ReceivedMessage:
        lite = self._membership.member_here
        messages = lite.at_hand(1) if lite.life.is_open else []
        message = messages[0] if messages else await self._run(lite.next_message())
        if message is None:
            raise StopAsyncIteration
        return self._unwrapped([message])[0] if self._namespace else message

    def _unwrapped(self, messages: list[ReceivedMessage]) -> list[ReceivedMessage]:
        for message in messages:
            message.rename(namespace.unwrap(self._namespace, message.topic))
        return messages

    # ------------------------------------------------------------------ where to go on

    async def seek(self, queue: MessageQueue, offset: int) -> None:
        """Go on there; raises StateError when the queue is not read here or does not reach
        there."""
        await self._run(self._lite.seek(queue, offset))

    async def seek_to_begin(self, queue: MessageQueue) -> None:
        """Go on with the oldest message there is."""
        await self._run(self._lite.seek_to_begin(queue))

    async def seek_to_end(self, queue: MessageQueue) -> None:
        """Go on with the next message that is sent."""
        await self._run(self._lite.seek_to_end(queue))

    async def offset_for_timestamp(self, queue: MessageQueue, timestamp_ms: int) -> int:
        """Of the first message stored then or later."""
        return await self._run(self._lite.offset_for_timestamp(queue, timestamp_ms))

    def pause(self, queues: Iterable[MessageQueue]) -> None:
        """Hand out nothing of these queues until they are resumed."""
        self._lite.pause(queues)

    def resume(self, queues: Iterable[MessageQueue]) -> None:
        """Go on with these queues."""
        self._lite.resume(queues)

    # ------------------------------------------------------------------ progress

    async def commit(self, offsets: Mapping[MessageQueue, int] | None = None) -> None:
        """Store that all that was handed out is done, or that these offsets are where to go on.
        Raises BrokerError or RequestError when that was not stored."""
        await self._run(self._lite.commit(offsets))

    async def committed(self, queue: MessageQueue) -> int | None:
        """Where the group goes on in this queue; None when it has never read it."""
        return await self._run(self._lite.committed(queue))

    @property
    def _lite(self) -> LitePull:
        return self._membership.member

    def _run(self, flow: Flow[T]) -> Awaitable[T]:
        return self._membership.run(flow)
