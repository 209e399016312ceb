"""Provides a scenario of Gantry's client with a broker, topics, groups and members.

Every stage has names of its own, so that scenarios run beside each other on one broker and one
event loop; what it started ends with it.
"""

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from types import TracebackType
from typing import Final, Self, TypeVar, Unpack

from gantrymq.client import (
    Admin,
    ConsumeFrom,
    Outcome,
    PopConsumer,
    Producer,
    PullConsumer,
    PushConsumer,
    ReceivedMessage,
    Sql,
)
from gantrymq.client.aio.machinery.configuration import ClientKeywords
from gantrymq.client.aio.machinery.producer_keywords import ProducerKeywords
from gantrymq.client.aio.pop_consumer import PopOptions
from gantrymq.client.aio.pull_consumer import PullOptions
from gantrymq.client.aio.push_consumer import PushOptions
from gantrymq.interop.clients.stage import ARRIVE_SECONDS, QUIET_SECONDS
from gantrymq.interop.servers import Broker

POLL_SECONDS: Final = 0.05
SHORT_S: Final = 1.0

T = TypeVar("T")


class Inbox:
    """A listener that keeps its messages and returns the outcomes that the scenario sets."""

    def __init__(self, outcome: Callable[[ReceivedMessage], Outcome] | None = None) -> None:
        self.messages: list[ReceivedMessage] = []
        self._outcome = outcome

    def __call__(self, messages: list[ReceivedMessage]) -> Outcome:
        self.messages += messages
        return None if self._outcome is None else self._outcome(messages[0])

    @property
    def bodies(self) -> list[str]:
        return bodies(self.messages)

    async def until(self, count: int) -> None:
        """Wait until that many messages have arrived."""
        await until(
            lambda: len(self.messages) >= count, lambda: f"{count} messages, not {self.bodies}"
        )

    async def gets_exactly(self, expected: Iterable[str]) -> None:
        """Each body arrives as often as it is listed, and no other body arrives."""
        wanted = Counter(expected)
        await self.until(wanted.total())
        await asyncio.sleep(QUIET_SECONDS)
        found = Counter(self.bodies)
        assert found == wanted, f"lost {wanted - found}, too many {found - wanted}"


class OwnStage:
    """The environment of one scenario; use it with `async with`."""

    def __init__(self, broker: Broker, name: str, mqadmin: Callable[..., Awaitable[str]]) -> None:
        """`mqadmin` runs a command of the real one and returns its output."""
        self.broker = broker
        self._name = name
        self.mqadmin = mqadmin
        self._numbers = itertools.count(1)
        self._members = AsyncExitStack()

    def name(self, what: str) -> str:
        """Return a unique name."""
        return f"{what}-{self._name}-{next(self._numbers)}"

    async def topic(self, queues: int = 4, **options: str) -> str:
        """Create a topic and return its name."""
        topic = self.name("topic")
        await asyncio.to_thread(lambda: self.broker.create_topic(topic, queues, **options))
        return topic

    def keywords(self) -> ClientKeywords:
        """Keywords for a separate client, whose periodic tasks run often."""
        return ClientKeywords(
            name_servers=self.broker.name_server_addresses,
            instance_name=self.name("client"),
            poll_name_server_s=SHORT_S,
            heartbeat_s=SHORT_S,
            persist_offsets_s=SHORT_S,
            rebalance_s=SHORT_S,
        )

    async def enter(self, member: AbstractAsyncContextManager[T]) -> T:
        """Start a member; it is closed with the stage."""
        return await self._members.enter_async_context(member)

    async def producer(self, **more: Unpack[ProducerKeywords]) -> Producer:
        """Start a producer with a new group."""
        keywords: ProducerKeywords = {"send_timeout_s": 10.0, **self.keywords(), **more}
        return await self.enter(Producer(self.name("group"), **keywords))

    async def consumer(
        self,
        topic: str,
        listener: Inbox,
        *,
        group: str = "",
        expression: str | Sql = "*",
        **more: Unpack[PushOptions],
    ) -> PushConsumer:
        """Start a consumer at the first message, in a new group unless one is given."""
        options: PushOptions = {"consume_from": ConsumeFrom.FIRST_OFFSET, **self.keywords(), **more}
        consumer = PushConsumer(group or self.name("group"), **options)
        consumer.subscribe(topic, expression, listener)
        return await self.enter(consumer)

    async def reader(self, group: str, **more: Unpack[PullOptions]) -> PullConsumer:
        """From the first message on."""
        options: PullOptions = {"consume_from": ConsumeFrom.FIRST_OFFSET, **self.keywords(), **more}
        return await self.enter(PullConsumer(group, **options))

    async def popper(
        self, topic: str, *, group: str, expression: str | Sql = "*", **more: Unpack[PopOptions]
    ) -> PopConsumer:
        """From the first message on."""
        options: PopOptions = {"from_first": True, "hold_s": 2.0, **self.keywords(), **more}
        consumer = PopConsumer(group, **options)
        consumer.subscribe(topic, expression)
        return await self.enter(consumer)

    async def admin(self, **more: Unpack[ClientKeywords]) -> Admin:
        keywords: ClientKeywords = {**self.keywords(), **more}
        return await self.enter(Admin(**keywords))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._members.aclose()


async def until(
    condition: Callable[[], bool | Awaitable[bool]],
    what: str | Callable[[], str],
    seconds: float = ARRIVE_SECONDS,
) -> None:
    """Wait for the condition; raises TimeoutError."""
    end = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer if isinstance(answer, bool) else await answer:
            return
        if time.monotonic() > end:
            told = what if isinstance(what, str) else what()
            raise TimeoutError(f"not within {seconds:g} s: {told}")
        await asyncio.sleep(POLL_SECONDS)


def bodies(messages: Iterable[ReceivedMessage]) -> list[str]:
    """Return the bodies as text."""
    return [message.body.decode() for message in messages]


def by_queue(messages: Iterable[ReceivedMessage]) -> dict[int, Sequence[ReceivedMessage]]:
    """Return the messages in order of arrival, by queue."""
    queues: dict[int, list[ReceivedMessage]] = {}
    for message in messages:
        queues.setdefault(message.queue.queue_id, []).append(message)
    return dict(queues)


async def stored(admin: Admin, topic: str, count: int) -> list[ReceivedMessage]:
    """Return all messages of a topic by queue, once its queues have that many.

    An acknowledged message is in the log; Java's broker adds it to its queue a little later."""

    async def is_listed() -> bool:
        queues = (await admin.topics.stats(topic)).queues.values()
        return sum(each.max_offset - each.min_offset for each in queues) >= count

    await until(is_listed, f"{topic} has {count} messages")
    found: list[ReceivedMessage] = []
    for queue, offsets in sorted((await admin.topics.stats(topic)).queues.items()):
        (address,) = await admin.topics.brokers(topic)
        offset = offsets.min_offset
        while offset < offsets.max_offset:
            pulled = await admin.messages.pull(address, queue, offset)
            found += pulled.messages
            offset = pulled.next_offset
    return found
