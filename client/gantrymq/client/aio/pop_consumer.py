"""Provides the pop consumer on asyncio: consumes single messages from 5.x brokers.

    consumer = PopConsumer("workers", name_servers="127.0.0.1:9876")
    consumer.subscribe("orders")
    async with consumer:
        async for message in consumer:
            async with message:
                await work(message.body)

The consumer has no queues to share and no offsets. Leaving the inner block acknowledges the
message; an exception makes it visible again after `retry_s`. Without the block, call `ack` or
`keep`. A message that is not settled in any of these ways is redelivered after its invisible time,
counted in `forgotten`, and logged.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self, TypeVar, Unpack, final

from gantrymq.client.aio.consumer_names import POP_NAMES
from gantrymq.client.aio.machinery.configuration import ClientKeywords, choose
from gantrymq.client.aio.machinery.environment import REAL, Environment
from gantrymq.client.aio.machinery.old_names import renamed_environment
from gantrymq.client.aio.membership import Membership, Startable
from gantrymq.client.aio.subscribing import must_be_possible
from gantrymq.client.core.errors import ClientError, MessageError, StateError
from gantrymq.client.core.flow.flow_steps import FOREVER, Flow
from gantrymq.client.core.group.subscriptions import EVERYTHING, Expression
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.message import namespace
from gantrymq.client.core.message.message import GROUP_CHARACTERS_MAX, name_fault
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.pop.pop_member import PopMember
from gantrymq.client.core.pop.pops import Out, Pops, PopSettings

T = TypeVar("T")

log: Final = logging.getLogger("gantrymq.client")


class PopOptions(ClientKeywords, total=False):
    """Keywords of PopSettings and of the client."""

    count: int
    invisible_s: float
    hold_s: float
    from_first: bool


@final
class PoppedMessage:
    """An in-flight message that must be settled by `async with`, `ack` or `keep`."""

    __slots__ = ("_consumer", "is_settled", "message", "out", "pops")

    def __init__(self, consumer: PopConsumer, pops: Pops, out: Out) -> None:
        self.is_settled = False
        self._consumer = consumer
        self.pops = pops
        self.out = out
        self.message: ReceivedMessage = out.message
        """The message itself: topic, tag, keys, properties and so on."""

    @property
    def body(self) -> bytes:
        return self.message.body

    @property
    def due_ms(self) -> int:
        """When the message becomes visible to other consumers unless it is settled, in ms."""
        return self.out.due_ms

    async def ack(self) -> None:
        """Acknowledge the message. Raises BrokerError or RequestError if no broker confirmed it;
        the message may then be redelivered."""
        await self._consumer.carry_out(self.pops.ack(self.out))
        self.is_settled = True

    async def keep(self, seconds: float) -> None:
        """Keep the message invisible for `seconds` from now: to get more time, or to have it
        redelivered soon (0: at once)."""
        await self._consumer.carry_out(self.pops.keep(self.out, seconds))
        self.is_settled = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            await self.ack()
            return
        self.is_settled = True  # it is redelivered after its invisible time at the latest
        try:
            await self.keep(self._consumer.retry_s)
        except ClientError as failure:
            log.warning(
                "message not returned, it is delivered again later message=%r error=%s",
                self,
                failure,
            )

    def __del__(self) -> None:
        if not self.is_settled:
            self._consumer.forgotten += 1
            log.warning(
                "message never settled, it is delivered again message=%r; call ack or keep", self
            )

    def __repr__(self) -> str:
        return f"PoppedMessage({self.message!r})"


@final
class PopConsumer(Startable):
    """A member of a pop group. `subscribe`, then `async with`, or `start` and `close`; then
    `receive` or iterate."""

    def __init__(
        self,
        group: str,
        *,
        retry_s: float = 10.0,
        environment: Environment = REAL,
        world: Environment | None = None,
        **options: Unpack[PopOptions],
    ) -> None:
        """Does no I/O yet. The options are those of the client (name_servers, access_key and so on)
        and of PopSettings (invisible_s, from_first and so on)."""
        fault = name_fault("group", group, GROUP_CHARACTERS_MAX)
        if fault is not None:
            raise MessageError(fault)
        self.retry_s = retry_s
        """After how many seconds a message is redelivered whose block failed."""
        self.forgotten = 0
        """Number of messages that were never settled."""
        chosen = choose(PopSettings, POP_NAMES, options)
        client_settings, identity, self._settings = chosen
        self._membership: Membership[PopMember] = Membership(
            "pop consumer", client_settings, identity, renamed_environment(environment, world)
        )
        self._namespace = client_settings.namespace
        self._group = namespace.wrap(self._namespace, group)
        self._subscriptions: dict[str, Expression] = {}

    def subscribe(self, topic: str, expression: Expression = EVERYTHING) -> None:
        """Subscribe before the start: `"*"`, `"paid || shipped"`, `Sql("price > 3")`. Raises
        SubscriptionError."""
        must_be_possible(topic, expression)
        if self._membership.started is not None:
            raise StateError("a pop consumer subscribes before it is started")
        self._subscriptions[namespace.wrap(self._namespace, topic)] = expression

    async def start(self) -> None:
        """Start; raises RouteError if a topic does not exist, SubscriptionError, StateError."""
        await self._membership.enter(self._make)

    def _make(self, instance: Instance) -> PopMember:
        member = PopMember(instance, self._group, self._settings)
        for topic, expression in self._subscriptions.items():
            member.subscribe(topic, expression)
        return member

    async def close(self) -> None:
        """Leave the group; messages not handed out are redelivered after their invisible time. A
        second call does nothing."""
        await self._membership.close()

    # ------------------------------------------------------------------ messages

    async def receive(self, timeout_s: float = FOREVER) -> PoppedMessage | None:
        """Return the next message; None after the timeout, or if the consumer is closed."""
        member = self._membership.member
        found = member.take() or await self._membership.run(member.receive(timeout_s))
        if found is None:
            return None
        pops, out = found
        if self._namespace:
            out.message.rename(namespace.unwrap(self._namespace, out.message.topic))
        return PoppedMessage(self, pops, out)

    def __aiter__(self) -> Self:
        """Iterate over messages until the consumer is closed."""
        return self

    async def __anext__(self) -> PoppedMessage:
        message = await self.receive()
        if message is None:
            raise StopAsyncIteration
        return message

    async def ack_all(self, messages: Sequence[PoppedMessage]) -> None:
        """Acknowledge many messages, with one request for each topic and broker."""
        by_pops: dict[Pops, list[PoppedMessage]] = {}
        for message in messages:
            by_pops.setdefault(message.pops, []).append(message)
        for pops, theirs in by_pops.items():
            await self.carry_out(pops.ack_all([each.out for each in theirs]))
            for each in theirs:
                each.is_settled = True

    async def carry_out(self, flow: Flow[T]) -> T:
        """Run a flow of the core; used by the consumer's messages."""
        return await self._membership.run(flow)
