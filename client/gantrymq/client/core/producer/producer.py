"""Provides the producer core: flows for sends of every kind, for one group of one client.

Invariant: topics are wrapped in the namespace here, and results have the user's names again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias, final

from gantrymq.client.core.errors import ClientError, MessageError, StateError
from gantrymq.client.core.flow.answers import success
from gantrymq.client.core.flow.flow_steps import Call, Flow
from gantrymq.client.core.flow.lifecycle import Lifecycle
from gantrymq.client.core.instance.hooks import MessageKind, SendHook
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.message import namespace
from gantrymq.client.core.message.message import GROUP_CHARACTERS_MAX, Message, name_fault
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.message.results import SendResult
from gantrymq.client.core.send import batches
from gantrymq.client.core.send.async_selection import AsyncSelection
from gantrymq.client.core.send.producer_batch import Batch, Share
from gantrymq.client.core.send.producer_settings import ProducerSettings
from gantrymq.client.core.send.record_accumulator import RecordAccumulator
from gantrymq.client.core.send.selecting import (
    Selector,
    choices,
    chosen,
    key_without_selector,
    must_be_of,
    queue_or_selector,
)
from gantrymq.client.core.send.send_request import SendRequest, of_message
from gantrymq.client.core.send.sending import Sender, SendMode
from gantrymq.client.core.trace.tracer import Tracer
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.send import RecallMessageRequest, RecallMessageResponse
from gantrymq.wire.headers.transaction import CheckTransactionStateRequest

DEFAULT_GROUP: Final = "DEFAULT_PRODUCER"

Check: TypeAlias = Callable[[str, CheckTransactionStateRequest, ReceivedMessage], Flow[None]]
"""Reports the state of a half message's transaction to the broker at an address."""


@final
class ProducerCore:
    """One producer of a client, registered in its instance between `start` and `close`."""

    def __init__(
        self,
        instance: Instance,
        group: str,
        settings: ProducerSettings,
        hooks: Sequence[SendHook] = (),
    ) -> None:
        """`group` is the user's name; see `must_be_group`."""
        self.instance = instance
        self.namespace = instance.settings.namespace
        self.group = namespace.wrap(self.namespace, group)
        self.settings = settings
        self.lifecycle = Lifecycle("producer")
        self.tracer: Tracer | None = None
        if settings.trace:
            self.tracer = Tracer(instance, self.group, "PRODUCE", settings.trace_topic)
            hooks = (*hooks, self.tracer)
        self.sender = Sender(instance, self.group, settings, hooks)
        self.accumulator = RecordAccumulator(self.sender, self.namespace)
        self._async_selection = AsyncSelection(self.sender, self.accumulator, self.namespace)
        self.check: Check | None = None
        """Set by the transaction support of this group."""
        self._known_for: set[str] = set()

    @property
    def topics(self) -> Iterable[str]:
        return tuple(self.sender.topics)

    async def start(self) -> None:
        self.lifecycle.begin()
        self.instance.add_producer(self.group, self)
        if self.tracer is not None:
            self.tracer.start()
        self.lifecycle.began()
        await self.instance.heartbeat()

    async def close(self) -> None:
        """Send waiting messages for up to `close_timeout_s`, fail the rest, and unregister."""
        if self.lifecycle.end():
            clock = self.instance.ports.clock
            await self.accumulator.flush(clock.monotonic() + self.settings.close_timeout_s)
            self.accumulator.abandon()
            if self.tracer is not None:
                await self.tracer.close()
            await self.instance.remove_producer(self.group, self)

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
        self.lifecycle.must_run()
        request = self.request_of(message)
        chosen = queue
        if queue is not None or select is not None or key is not None:
            chosen = await self.queue_for(message, queue, select, key)
        try:
            result = await self.sender.send(request, queue=chosen, mode=mode, timeout_s=timeout_s)
        except ClientError as error:
            self._must_be_open(error)
            raise
        return self.unwrapped(result)

    async def send_oneway(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        select: Selector | None = None,
        key: object = None,
    ) -> None:
        self.lifecycle.must_run()
        request = self.request_of(message)
        chosen = await self.queue_for(message, queue, select, key)
        await self.sender.send_oneway(request, queue=chosen)

    async def send_batch(
        self,
        messages: Sequence[Message],
        *,
        queue: MessageQueue | None = None,
        timeout_s: float | None = None,
    ) -> SendResult:
        self.lifecycle.must_run()
        request = batches.of_batch(
            messages,
            settings=self.settings,
            group=self.group,
            wrapped_in=self.namespace,
            new_id=self.instance.ports.new_id,
        )
        chosen = None if queue is None else self.wrapped(queue)
        try:
            result = await self.sender.send(request, queue=chosen, timeout_s=timeout_s)
        except ClientError as error:
            self._must_be_open(error)
            raise
        return self.unwrapped(result)

    def _must_be_open(self, error: ClientError) -> None:
        """Raise StateError instead if the producer was closed, because the send then fails for lack
        of connections."""
        if not self.lifecycle.is_open:
            raise StateError(
                "the producer was closed before a broker acknowledged the message; one may have it"
            ) from error

    def send_async(
        self,
        message: Message,
        queue: MessageQueue | None = None,
        select: Selector | None = None,
        key: object = None,
    ) -> Batch:
        """Return the batch whose last message it now is; see `accumulator`."""
        self.lifecycle.must_run()
        if select is not None:
            if queue is not None:
                raise queue_or_selector()
            return self._async_selection.add(message, select, key)
        if key is not None:
            raise key_without_selector()
        if queue is not None:
            queue = self.wrapped(must_be_of(message, queue))
        return self.accumulator.add(message, queue)

    def send_async_many(
        self, pattern: Message, bodies: list[bytes], queue: MessageQueue | None = None
    ) -> list[Share]:
        """Return the batches with the messages, in order; see `accumulator`."""
        self.lifecycle.must_run()
        if queue is not None:
            queue = self.wrapped(must_be_of(pattern, queue))
        return self.accumulator.add_many(pattern, bodies, queue)

    def request_of(
        self,
        message: Message,
        extra: dict[str, str] | None = None,
        flags: int = 0,
        kind: MessageKind = MessageKind.NORMAL,
    ) -> SendRequest:
        return of_message(
            message,
            settings=self.settings,
            group=self.group,
            wrapped_in=self.namespace,
            new_id=self.instance.ports.new_id(),
            extra=extra,
            flags=flags,
            kind=kind,
        )

    async def queues(self, topic: str) -> list[MessageQueue]:
        """Return the writable queues of a topic with the user's topic name; raises RouteError."""
        self.lifecycle.must_run()
        route = await self.sender.route(namespace.wrap(self.namespace, topic))
        return choices(route.publish, topic)

    async def queue_for(
        self, message: Message, queue: MessageQueue | None, select: Selector | None, key: object
    ) -> MessageQueue | None:
        """Return the chosen queue as servers know it; None if any queue will do. Raises
        MessageError."""
        if select is not None:
            if queue is not None:
                raise queue_or_selector()
            queues = await self.queues(message.topic)
            queue = chosen(await Call[object](select, queues, message, key), select, message)
        elif key is not None:
            raise key_without_selector()
        if queue is None:
            return None
        return self.wrapped(must_be_of(message, queue))

    def wrapped(self, queue: MessageQueue) -> MessageQueue:
        return namespace.wrapped_queue(self.namespace, queue)

    def unwrapped(self, result: SendResult) -> SendResult:
        if not self.namespace:
            return result
        return result.of_topic(namespace.unwrap(self.namespace, result.queue.topic))

    # ------------------------------------------------------------------ recall

    async def recall(self, result: SendResult) -> str:
        """Recall a delayed message that is not due yet; returns its id. Raises BrokerError,
        MessageError."""
        self.lifecycle.must_run()
        if not result.recall_handle:
            raise MessageError(
                "this send gave no recall_handle: it is given by brokers of 5.x, for messages"
                " delayed by delay_s or deliver_at_ms, when recallMessageEnable is on"
            )
        queue = self.wrapped(result.queue)
        header = RecallMessageRequest(
            producer_group=self.group,
            topic=queue.topic,
            recall_handle=result.recall_handle,
            broker_name=queue.broker_name,
        )
        address = await self.sender.address(queue)
        command = Command(RequestCode.RECALL_MESSAGE, ext=header.encode())
        is_done = False
        try:
            answer = await success(address, command, self.settings.send_timeout_s)
            is_done = True
        finally:
            if self.tracer is not None:
                id_ = result.message_id
                self.tracer.recalled(self.group, queue.topic, id_, is_done=is_done)
        return RecallMessageResponse.decode(answer.ext).msg_id

    # ------------------------------------------------------------------ registration

    async def be_known(self, topic: str) -> None:
        """Register this producer at the brokers of the topic, so that they can send it requests."""
        name = namespace.wrap(self.namespace, topic)
        if name not in self._known_for:
            await self.sender.route(name)
            await self.instance.heartbeat()
            self._known_for.add(name)


def must_be_group(group: str) -> None:
    """Raise StateError if a producer cannot have this group name."""
    fault = name_fault("group", group, GROUP_CHARACTERS_MAX)
    if fault is None and group == DEFAULT_GROUP:
        fault = (
            f"producerGroup can not equal {DEFAULT_GROUP}, please specify another one: brokers ask"
            " any producer of a group about its transactions"
        )
    if fault is not None:
        raise StateError(fault)
