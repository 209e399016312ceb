"""Provides blocking consumers, each of which runs the asyncio consumer of the same name.

    with PullConsumer("readers", name_servers="127.0.0.1:9876") as consumer:
        consumer.subscribe("orders", "paid || shipped")
        for message in consumer:
            print(message.topic, message.body)

Each method is documented at the method of the same name in `client.aio`. It can be called from any
thread except the client's own. Iteration switches threads for each message, `poll` for each pull.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType
from typing import Final, Self, Unpack, final

from gantrymq.client.aio import pop_consumer, pull_consumer, push_consumer
from gantrymq.client.aio.pop_consumer import PopOptions
from gantrymq.client.aio.pull_consumer import PullOptions
from gantrymq.client.aio.push_consumer import PushOptions
from gantrymq.client.blocking.facade import Facade, in_pool, in_pool_inside, passes, waits
from gantrymq.client.core.flow.flow_steps import FOREVER
from gantrymq.client.core.group.subscriptions import Expression
from gantrymq.client.core.instance.topic_watch import QueuesChanged
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.push.listeners import Listener
from gantrymq.wire.bodies.shared import MessageQueue

# The default number of a push consumer's listener threads, as in Java; see `consume_threads`.
THREADS: Final = 20


@final
class PullConsumer(Facade[pull_consumer.PullConsumer]):
    """Returns messages from `poll`, or one at a time by iteration. See `aio.pull_consumer`."""

    def __init__(self, group: str, **options: Unpack[PullOptions]) -> None:
        super().__init__(pull_consumer.PullConsumer(group, **options))
        self._late: list[list[ReceivedMessage]] = []
        self._pool: Final = ThreadPoolExecutor(1, "gantrymq-listener")

    subscribe = passes(pull_consumer.PullConsumer.subscribe)
    unsubscribe = passes(pull_consumer.PullConsumer.unsubscribe)
    assign = waits(pull_consumer.PullConsumer.assign)
    fetch_message_queues = waits(pull_consumer.PullConsumer.fetch_message_queues)
    seek = waits(pull_consumer.PullConsumer.seek)
    seek_to_begin = waits(pull_consumer.PullConsumer.seek_to_begin)
    seek_to_end = waits(pull_consumer.PullConsumer.seek_to_end)
    offset_for_timestamp = waits(pull_consumer.PullConsumer.offset_for_timestamp)
    pause = passes(pull_consumer.PullConsumer.pause)
    resume = passes(pull_consumer.PullConsumer.resume)
    commit = waits(pull_consumer.PullConsumer.commit)
    committed = waits(pull_consumer.PullConsumer.committed)

    @property
    def assignment(self) -> list[MessageQueue]:
        """The queues that it reads now."""
        return self.thread.call(lambda: self._member.assignment)

    def on_queues_changed(self, topic: str, listener: QueuesChanged) -> None:
        """Call `listener(topic, queues)` in a thread when the queues of a topic change."""
        called = in_pool(self._pool, listener)
        if self._thread is None:
            self._member.on_queues_changed(topic, called)
        else:
            self._thread.call(lambda: self._member.on_queues_changed(topic, called))

    def poll(self, timeout_s: float | None = None) -> list[ReceivedMessage]:
        """Return messages of one pull from one queue, or an empty list after the timeout. A call
        marks the messages of the previous call as consumed."""
        if self._late:
            return self._late.pop()
        return self.thread.run(self._member.poll(timeout_s), self._late.append)

    def __iter__(self) -> Iterator[ReceivedMessage]:
        """Return one message after the other, until the consumer is closed."""
        while True:
            if self._late:
                yield from self._late.pop()
                continue
            try:
                message = self.thread.run(self._member.__anext__(), self._was_late)
            except StopAsyncIteration:
                return
            yield message

    def _was_late(self, message: ReceivedMessage) -> None:
        self._late.append([message])

    def close(self, *, commit: bool = True) -> None:
        """Persist the offsets and leave the group. With `commit`, the messages that were returned
        last count as consumed. A second call does nothing."""
        is_done = commit and not self._late
        self._end(lambda: self._member.close(commit=is_done))
        self._pool.shutdown(wait=False)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """The messages that were returned last count as consumed, unless the block failed."""
        self.close(commit=error is None)


@final
class PoppedMessage:
    """A popped message, which the program settles by `with`, `ack` or `keep`."""

    __slots__ = ("_consumer", "_popped")

    def __init__(self, consumer: PopConsumer, popped: pop_consumer.PoppedMessage) -> None:
        self._consumer = consumer
        self._popped = popped

    @property
    def message(self) -> ReceivedMessage:
        """The message with all its fields."""
        return self._popped.message

    @property
    def body(self) -> bytes:
        return self._popped.body

    def ack(self) -> None:
        """Acknowledge the message; raises if no broker confirmed that."""
        self._consumer.thread.run(self._popped.ack())

    def keep(self, seconds: float) -> None:
        """Keep it invisible for other consumers for `seconds` from now; 0 redelivers it at once."""
        self._consumer.thread.run(self._popped.keep(seconds))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Acknowledge the message, or return it to the broker if the block failed."""
        self._consumer.thread.run(self._popped.__aexit__(kind, error, trace))

    def __repr__(self) -> str:
        return repr(self._popped)


@final
class PopConsumer(Facade[pop_consumer.PopConsumer]):
    """Receives single messages from 5.x brokers. See `aio.pop_consumer`."""

    def __init__(self, group: str, *, retry_s: float = 10.0, **options: Unpack[PopOptions]) -> None:
        super().__init__(pop_consumer.PopConsumer(group, retry_s=retry_s, **options))
        self._late: list[pop_consumer.PoppedMessage] = []

    subscribe = passes(pop_consumer.PopConsumer.subscribe)

    @property
    def forgotten(self) -> int:
        """Number of messages that were never settled."""
        return self._member.forgotten

    def receive(self, timeout_s: float = FOREVER) -> PoppedMessage | None:
        """Return the next message; None after the timeout, or if the consumer is closed."""
        if self._late:
            return PoppedMessage(self, self._late.pop())
        popped = self.thread.run(self._member.receive(timeout_s), self._was_late)
        return None if popped is None else PoppedMessage(self, popped)

    def _was_late(self, popped: pop_consumer.PoppedMessage | None) -> None:
        if popped is not None:
            self._late.append(popped)

    def __iter__(self) -> Iterator[PoppedMessage]:
        """Return one message after the other, until the consumer is closed."""
        while (message := self.receive()) is not None:
            yield message


@final
class PushConsumer(Facade[push_consumer.PushConsumer]):
    """Calls listeners in `consume_threads` threads. See `aio.push_consumer`."""

    def __init__(self, group: str, **options: Unpack[PushOptions]) -> None:
        super().__init__(push_consumer.PushConsumer(group, **options))
        threads = options.get("consume_threads", THREADS)
        self._pool: Final = ThreadPoolExecutor(threads, "gantrymq-listener")

    unsubscribe = passes(push_consumer.PushConsumer.unsubscribe)
    pause = passes(push_consumer.PushConsumer.pause)
    resume = passes(push_consumer.PushConsumer.resume)
    status = passes(push_consumer.PushConsumer.status)

    def subscribe(self, topic: str, expression: Expression, listener: Listener) -> None:
        """Call the listener with messages of the topic, in a thread, where it can block and can use
        blocking clients."""
        called = in_pool_inside(self._pool, listener)
        if self._thread is None:
            self._member.subscribe(topic, expression, called)
        else:
            self._thread.call(lambda: self._member.subscribe(topic, expression, called))

    def close(self) -> None:
        """Wait for running listeners, persist the offsets and leave the group."""
        try:
            super().close()
        finally:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def wait(self) -> None:
        """Wait until Ctrl-C, which raises no error; for programs that only consume."""
        with suppress(KeyboardInterrupt):
            self.thread.wait()
