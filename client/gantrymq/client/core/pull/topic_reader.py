"""Reads a topic from a given place without a consumer group; no group's offset changes.

    reader = TopicReader(instance, subscription("orders", "paid", 0), Beginning(Begin.FIRST))
    await reader.start()
    messages = await reader.poll(5.0)          messages of one pull from one queue

It pulls as the group of Java's tools, which every broker has, and commits no offsets. Queues that
are added to the topic later are read from their first message. Invariant: the buffer is bounded,
and each queue's messages are returned in their order, each once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final, final

from gantrymq.client.core.admin.messages import PULL_GROUP
from gantrymq.client.core.errors import RouteError
from gantrymq.client.core.flow.flow_steps import FOREVER, All, Signal, Wait
from gantrymq.client.core.flow.lifecycle import Lifecycle
from gantrymq.client.core.group import queue_offsets
from gantrymq.client.core.group.subscriptions import Subscription, check
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.ports import Running
from gantrymq.client.core.pull.lite_queue import Buffered, Buffering, LiteQueue
from gantrymq.client.core.pull.pulls import PullSettings, QueuePulls
from gantrymq.client.core.safe_text import as_told
from gantrymq.wire.bodies.shared import MessageQueue

# The interval of Java's clients for route updates.
LOOK_S: Final = 30.0

_PULLS: Final = PullSettings(sends_filter=True)

# Smaller than the buffer of a consumer, because a reader may read hundreds of queues.
_BUFFERING: Final = Buffering(
    messages_max=4096, queue_messages_max=512, queue_bytes_max=8 << 20, span_max=1 << 30
)


class Begin(Enum):
    """Where to start in each queue."""

    FIRST = "the oldest message that is there"
    LAST = "the next message that is sent"
    MOMENT = "the first message stored then or later"
    OFFSET = "this offset"


@dataclass(frozen=True, slots=True)
class Beginning:
    """The start of the reader; `value` is the time of a MOMENT in milliseconds, or an OFFSET."""

    begin: Begin
    value: int = 0


@final
class _Starts:
    """The start offsets of queues that exist when the reader starts."""

    def __init__(self, instance: Instance, beginning: Beginning) -> None:
        self.beginning = beginning
        self._instance = instance

    async def of(self, queue: MessageQueue) -> int:
        if self.beginning.begin is Begin.LAST:
            return await queue_offsets.end(self._instance, queue)
        if self.beginning.begin is Begin.MOMENT:
            return await queue_offsets.at_time(self._instance, queue, self.beginning.value)
        if self.beginning.begin is Begin.OFFSET:
            return self.beginning.value
        return await queue_offsets.first(self._instance, queue)


@final
class TopicReader:
    """Reads one topic for its caller. `start`, then `poll`, then `close`."""

    def __init__(
        self,
        instance: Instance,
        subscribed: Subscription,
        beginning: Beginning,
        *,
        wanted: Callable[[MessageQueue], bool] = lambda queue: True,
    ) -> None:
        """`wanted` tells which of the topic's queues to read."""
        self.lifecycle = Lifecycle("topic reader")
        self._instance = instance
        self._subscribed = subscribed
        self._starts = _Starts(instance, beginning)
        self._wanted = wanted
        self._buffered = Buffered()
        self._queues: dict[MessageQueue, LiteQueue] = {}
        self._ready: deque[LiteQueue] = deque()
        self._arrived = Signal()
        self._watching: Running | None = None

    # ------------------------------------------------------------------ lifecycle

    async def start(self) -> None:
        """Determine the start of every queue; a queue whose broker does not answer is started
        later. Raises RouteError for an unknown topic, SubscriptionError, and a broker's error if
        none of them answers."""
        self.lifecycle.begin()
        await check(self._instance, PULL_GROUP, self._subscribed)
        queues = await self._new_queues()
        if not queues:
            raise RouteError(
                f"Topic {self._subscribed.topic} has none of the requested queues, or they cannot"
                " be read. `gantry topicRoute -l` shows its queues."
            )
        told = await All([self._starts.of(queue) for queue in queues])
        failures = [each for each in told if isinstance(each, Exception)]
        if len(failures) == len(queues):
            raise failures[0]
        self.lifecycle.began()
        for queue, start in zip(queues, told, strict=True):
            self._read(queue, start)
        self._watching = self._instance.ports.start(self._watch(), "topic reader")

    async def close(self) -> None:
        if self.lifecycle.end():
            if self._watching is not None:
                self._watching.cancel()
            for queue in self._queues.values():
                queue.stop()
            self._arrived.fire()

    async def _new_queues(self) -> list[MessageQueue]:
        """Return the wanted queues that are not read yet; raises RouteError."""
        topic = self._subscribed.topic
        await self._instance.refresh_route(topic)
        queues = (await self._instance.route(topic)).subscribe
        return sorted(each for each in queues if self._wanted(each) and each not in self._queues)

    def _read(self, queue: MessageQueue, start: int | Exception) -> None:
        ports = self._instance.ports
        pulls = QueuePulls(self._instance, PULL_GROUP, queue, self._subscribed, _PULLS)
        reading = LiteQueue(pulls, self._starts, _BUFFERING, self._buffered, self._has_arrived)
        self._queues[queue] = reading
        if isinstance(start, Exception):
            ports.log(f"start offset unknown, retrying queue={queue} error={start}")
            reading.start(ports)
        else:
            reading.go_to(start, ports)

    async def _watch(self) -> None:
        clock = self._instance.ports.clock
        while True:
            await Wait(clock.monotonic() + LOOK_S)
            try:
                for queue in await self._new_queues():
                    self._read(queue, 0)
            except Exception as error:  # one failure must not end the loop
                cause, shown = as_told(error)
                self._instance.ports.log(
                    f"search for new queues failed, retrying error={cause}", shown
                )

    # ------------------------------------------------------------------ messages

    async def poll(self, timeout_s: float = FOREVER) -> list[ReceivedMessage]:
        """Return messages of one pull from one queue; empty after the timeout, or if the reader is
        closed."""
        until = self._instance.ports.clock.monotonic() + timeout_s
        while self.lifecycle.is_open:
            if self._ready:
                return self._take(self._ready.popleft())
            if not await Wait(until, self._arrived):
                break
        return []

    def _take(self, queue: LiteQueue) -> list[ReceivedMessage]:
        """Take the queue's next messages, and move it to the end of the round robin."""
        was_full = self._buffered.count >= _BUFFERING.messages_max
        messages = queue.take(_PULLS.count)
        if queue.can_give:
            self._ready.append(queue)
        if was_full:
            for each in self._queues.values():
                each.wake()
        return messages

    def _has_arrived(self, queue: LiteQueue) -> None:
        if queue not in self._ready:
            self._ready.append(queue)
        self._arrived.fire()
