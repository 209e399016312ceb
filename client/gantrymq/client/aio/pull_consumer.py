"""Provides the pull consumer on asyncio: Java's DefaultLitePullConsumer.

    async with PullConsumer("readers", name_servers="127.0.0.1:9876") as consumer:
        consumer.subscribe("orders", "paid || shipped")
        async for message in consumer:
            print(message.topic, message.body)

The work is done by flows of `core.lite_pull`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from types import TracebackType
from typing import Self, TypeVar, Unpack, final

from gantrymq.client.aio.consumer_names import LITE_NAMES
from gantrymq.client.aio.machinery.configuration import ClientKeywords, choose
from gantrymq.client.aio.machinery.environment import REAL, Environment
from gantrymq.client.aio.machinery.old_names import renamed_environment
from gantrymq.client.aio.machinery.process import offsets_folder
from gantrymq.client.aio.membership import Membership, Startable
from gantrymq.client.aio.subscribing import must_be_possible
from gantrymq.client.core.errors import MessageError
from gantrymq.client.core.flow.flow_steps import Flow
from gantrymq.client.core.group.allocation import Allocate
from gantrymq.client.core.group.offset_store import offset_store
from gantrymq.client.core.group.start_offset import ConsumeFrom
from gantrymq.client.core.group.subscriptions import EVERYTHING, Expression
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.instance.topic_watch import QueuesChanged
from gantrymq.client.core.message import namespace
from gantrymq.client.core.message.message import GROUP_CHARACTERS_MAX, name_fault
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.pull.lite_pull import LitePull
from gantrymq.client.core.pull.lite_queue import Buffering
from gantrymq.client.core.pull.lite_settings import LiteSettings
from gantrymq.wire.bodies.shared import MessageQueue

T = TypeVar("T")


class PullOptions(ClientKeywords, total=False):
    """Keywords of LiteSettings and of the client."""

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
    """A member of a consumer group that the application polls. Use `async with`, or `start` and
    `close`; `subscribe` to topics or `assign` queues, then `poll` or iterate.

    With `auto_commit`, offsets are committed every few seconds for messages of polls before the
    last one. A process that dies gets the messages of its last poll again.
    """

    def __init__(
        self,
        group: str,
        *,
        environment: Environment = REAL,
        world: Environment | None = None,
        **options: Unpack[PullOptions],
    ) -> None:
        """Does no I/O yet. The options are those of the client (name_servers, access_key and so on)
        and of LiteSettings (auto_commit, pull_batch, consume_from and so on). Raises
        ConfigurationError."""
        fault = name_fault("group", group, GROUP_CHARACTERS_MAX)
        if fault is not None:
            raise MessageError(fault)
        chosen = choose(LiteSettings, LITE_NAMES, options)
        client_settings, identity, self._settings = chosen
        self._membership: Membership[LitePull] = Membership(
            "lite pull consumer", client_settings, identity, renamed_environment(environment, world)
        )
        self._namespace = client_settings.namespace
        self._group = namespace.wrap(self._namespace, group)
        self._early: list[tuple[str, Expression]] = []
        self._listeners: list[tuple[str, QueuesChanged]] = []

    # ------------------------------------------------------------------ lifecycle

    async def start(self) -> None:
        """Start; raises StateError if it was started before, or if this client has the group
        already."""
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
        """Commit the offsets and leave the group; `commit` includes the messages handed out last. A
        second call does nothing."""
        await self._membership.close(lambda lite: lite.close(commit=commit))

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close, and commit the messages handed out last unless the block failed."""
        await self.close(commit=error is None)

    # ------------------------------------------------------------------ which queues

    def subscribe(self, topic: str, expression: Expression = EVERYTHING) -> None:
        """Share the topic with the group: `"*"`, `"paid || shipped"`, `Sql("price > 3")`. Raises
        SubscriptionError; a broker's refusal is raised by the next `poll`."""
        must_be_possible(topic, expression)
        wrapped = namespace.wrap(self._namespace, topic)
        lite = self._membership.started
        if lite is None:
            self._early.append((wrapped, expression))
        else:
            lite.subscribe(wrapped, expression)

    def unsubscribe(self, topic: str) -> None:
        """Stop consuming the topic."""
        self._lite.unsubscribe(namespace.wrap(self._namespace, topic))

    async def assign(
        self, queues: Iterable[MessageQueue], expression: Expression = EVERYTHING
    ) -> None:
        """Read exactly these queues, independent of other consumers. Queues that it already reads
        continue at their offsets."""
        await self._run(self._lite.assign(queues, expression))

    @property
    def assignment(self) -> list[MessageQueue]:
        """The queues that the consumer reads now."""
        return self._lite.assignment

    async def fetch_message_queues(self, topic: str) -> list[MessageQueue]:
        """Return all readable queues of a topic; raises RouteError if no name server knows it."""
        wrapped = namespace.wrap(self._namespace, topic)
        return await self._run(self._lite.queues_of(wrapped))

    def on_queues_changed(self, topic: str, listener: QueuesChanged) -> None:
        """Call `listener(topic, queues)`, plain or async, when the queues of a topic change."""
        wrapped = namespace.wrap(self._namespace, topic)
        lite = self._membership.started
        if lite is None:
            self._listeners.append((wrapped, listener))
        else:
            lite.on_queues_changed(wrapped, listener)

    # ------------------------------------------------------------------ messages

    async def poll(self, timeout_s: float | None = None) -> list[ReceivedMessage]:
        """Return messages of one pull from one queue; an empty list after the timeout.

        A poll marks the messages of the previous poll as consumed. So one task polls; if other
        tasks process the messages, use auto_commit=False and `commit`. Raises StateError while
        another task polls.
        """
        lite = self._membership.member_here
        # Buffered messages are returned without a step of the event loop.
        messages = lite.at_hand() or await self._run(lite.poll(timeout_s))
        return self._unwrapped(messages) if self._namespace else messages

    def __aiter__(self) -> Self:
        """Iterate over messages until the consumer is closed."""
        return self

    async def __anext__(self) -> ReceivedMessage:
        lite = self._membership.member_here
        messages = lite.at_hand(1) if lite.lifecycle.is_open else []
        message = messages[0] if messages else await self._run(lite.next_message())
        if message is None:
            raise StopAsyncIteration
        return self._unwrapped([message])[0] if self._namespace else message

    def _unwrapped(self, messages: list[ReceivedMessage]) -> list[ReceivedMessage]:
        for message in messages:
            message.rename(namespace.unwrap(self._namespace, message.topic))
        return messages

    # ------------------------------------------------------------------ positions

    async def seek(self, queue: MessageQueue, offset: int) -> None:
        """Continue at this offset; raises StateError if the consumer does not read the queue or the
        queue does not contain the offset."""
        await self._run(self._lite.positions.seek(queue, offset))

    async def seek_to_begin(self, queue: MessageQueue) -> None:
        """Continue with the oldest message."""
        await self._run(self._lite.positions.seek_to_begin(queue))

    async def seek_to_end(self, queue: MessageQueue) -> None:
        """Continue with the next message that is sent."""
        await self._run(self._lite.positions.seek_to_end(queue))

    async def offset_for_timestamp(self, queue: MessageQueue, timestamp_ms: int) -> int:
        """Return the offset of the first message stored at `timestamp_ms` or later."""
        return await self._run(self._lite.positions.offset_for_timestamp(queue, timestamp_ms))

    def pause(self, queues: Iterable[MessageQueue]) -> None:
        """Return no messages of these queues until they are resumed."""
        self._lite.positions.pause(queues)

    def resume(self, queues: Iterable[MessageQueue]) -> None:
        """Resume these queues."""
        self._lite.positions.resume(queues)

    # ------------------------------------------------------------------ progress

    async def commit(self, offsets: Mapping[MessageQueue, int] | None = None) -> None:
        """Commit everything that was handed out, or these offsets, each of which is the next to
        consume. Raises BrokerError or RequestError if that failed."""
        await self._run(self._lite.commit(offsets))

    async def committed(self, queue: MessageQueue) -> int | None:
        """Return the committed offset of a queue; None if the group has none."""
        return await self._run(self._lite.committed(queue))

    @property
    def _lite(self) -> LitePull:
        return self._membership.member

    def _run(self, flow: Flow[T]) -> Awaitable[T]:
        return self._membership.run(flow)
