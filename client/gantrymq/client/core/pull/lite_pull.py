"""Provides the pull consumer core: owns queues, pulls ahead, hands out messages, commits offsets.

    subscribe   the members of the group share the queues of topics (rebalance)
    assign      exactly these queues, independent of other consumers

    poll        returns messages of one pull; messages of earlier polls count as consumed
    commit      automatic: every `auto_commit_s` and on close; manual: when the application calls

Invariant: unless the application commits offsets itself, committed offsets cover only messages of
polls before the last one. A process that dies gets the messages of its last poll again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import final

from gantrymq.base.errors import GantryError
from gantrymq.client.core.errors import ClientError, StateError
from gantrymq.client.core.flow.flow_steps import FOREVER, Signal, Wait
from gantrymq.client.core.flow.lifecycle import Lifecycle, State
from gantrymq.client.core.group.offset_store import OffsetStore
from gantrymq.client.core.group.start_offset import StartOffsets
from gantrymq.client.core.group.subscriptions import (
    EVERYTHING,
    Expression,
    Subscription,
    SubscriptionError,
    Versions,
    check,
    subscription,
)
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.instance.topic_watch import QueuesChanged, TopicWatch
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.ports import Running
from gantrymq.client.core.pull.consumer_requests import ConsumerRequests
from gantrymq.client.core.pull.lite_operations import LiteOperations
from gantrymq.client.core.pull.lite_positions import LitePositions
from gantrymq.client.core.pull.lite_queue import Buffered, LiteQueue
from gantrymq.client.core.pull.lite_settings import LiteSettings
from gantrymq.client.core.pull.lite_shares import LiteShares
from gantrymq.client.core.pull.pulls import LITE_SETTINGS, QueuePulls
from gantrymq.client.core.pull.single_poller import SinglePoller
from gantrymq.remoting.failures import RequestError
from gantrymq.wire.bodies.heartbeat import BROADCASTING, CLUSTERING, ConsumerData
from gantrymq.wire.bodies.shared import MessageQueue


@final
class LitePull:
    """One member of a consumer group in one client. `start`, then `close`."""

    def __init__(
        self, instance: Instance, group: str, settings: LiteSettings, offsets: OffsetStore
    ) -> None:
        self.lifecycle = Lifecycle("lite pull consumer")
        self.group = group
        self._instance = instance
        self._settings = settings
        self._offsets = offsets
        self._starts = StartOffsets(
            instance, offsets, settings.consume_from, settings.consume_timestamp_ms
        )
        self._pull_settings = replace(LITE_SETTINGS, count=settings.pull_batch)
        self._subscriptions: dict[str, Subscription] = {}
        self._versions = Versions()
        self._shares = LiteShares(instance, group, settings)
        self._is_assigned = False
        self._queues: dict[MessageQueue, LiteQueue] = {}
        self._ready: deque[LiteQueue] = deque()
        self._handed: list[LiteQueue] = []
        self._arrived = Signal()
        self._polled = SinglePoller()
        self._buffered = Buffered()
        self._failure: ClientError | None = None
        self._watch = TopicWatch(instance)
        self._watching: Running | None = None
        self._next_commit = 0.0
        self.positions = LitePositions(instance, self.lifecycle, self._queues, self._arrived)
        """Seeks, pauses and resumes queues for the application."""
        self._operations = LiteOperations(instance, settings, self._queues, self._subscriptions)
        self._requests = ConsumerRequests(instance, group, self._operations)

    # ------------------------------------------------------------------ lifecycle

    async def start(self) -> None:
        self.lifecycle.begin()
        await self._offsets.load()
        self._instance.add_consumer(self.group, self)
        self._requests.begin()
        self._operations.started_ms = self._instance.ports.clock.wall_ms()
        self._next_commit = self._now() + self._settings.auto_commit_s
        self.lifecycle.began()
        for queue in self._queues.values():
            queue.start(self._instance.ports)
        watching = self._watch.run(self._settings.queue_check_s)
        self._watching = self._instance.ports.start(watching, "topic queues")
        self._instance.rebalance_wanted.fire()

    async def close(self, *, commit: bool = True) -> None:
        """`commit` also marks the messages handed out last as consumed."""
        if not self.lifecycle.end():
            return
        self._requests.end()
        for queue in self._queues.values():
            queue.stop()
        if self._watching is not None:
            self._watching.cancel()
        self._arrived.fire()
        if commit and self._settings.auto_commit:
            self._settle()
        try:
            if self._settings.auto_commit:
                self._note()
            await self._offsets.persist(tuple(self._queues), confirm=True)
        except (GantryError, OSError) as error:
            self._log(f"offsets not persisted, messages may be delivered again error={error}")
        await self._instance.remove_consumer(self.group, self)

    # ------------------------------------------------------------------ as the client sees it

    @property
    def topics(self) -> Iterable[str]:
        assigned = (queue.topic for queue in self._queues)
        return dict.fromkeys((*self._subscriptions, *assigned, *self._watch.topics))

    @property
    def data(self) -> ConsumerData:
        return ConsumerData(
            group_name=self.group,
            consume_type="CONSUME_ACTIVELY",
            message_model=BROADCASTING if self._settings.broadcasting else CLUSTERING,
            consume_from_where=self._settings.consume_from.value,
            subscriptions=tuple(each.data for each in self._subscriptions.values()),
            unit_mode=self._instance.settings.unit_mode,
        )

    async def persist_offsets(self) -> None:
        now = self._now()
        if self._settings.auto_commit and now >= self._next_commit:
            self._next_commit = now + self._settings.auto_commit_s
            self._note()
        await self._offsets.persist(tuple(self._queues))

    async def rebalance(self) -> bool:
        """Take this consumer's share of the queues; return whether that succeeded for all
        topics."""
        if self.lifecycle.state is not State.RUNNING or self._is_assigned:
            return True
        is_balanced = True
        for topic, subscribed in tuple(self._subscriptions.items()):
            try:
                share = await self._shares.of(subscribed)
            except SubscriptionError as error:
                self._failure = error
                self._arrived.fire()
                is_balanced = False
            except (ClientError, RequestError) as error:
                self._log(f"share of queues unknown, retrying topic={topic} error={error}")
                is_balanced = False
            else:
                await self._take_share(topic, share)
        if not self._is_assigned:  # `assign` may have been called meanwhile
            gone = [queue for queue in self._queues if queue.topic not in self._subscriptions]
            await self._give_up(gone)
        return is_balanced

    async def _take_share(self, topic: str, share: Collection[MessageQueue]) -> None:
        if self._wanted(topic) is None:
            return
        mine = [queue for queue in self._queues if queue.topic == topic]
        await self._give_up([queue for queue in mine if queue not in share])
        subscribed = self._wanted(topic)  # it may have changed during the await
        if subscribed is None:
            return
        for queue in share:
            if queue not in self._queues:
                self._take(queue, subscribed)

    def _wanted(self, topic: str) -> Subscription | None:
        """Return the current subscription of a topic; None if unsubscribed or not running."""
        return self._subscriptions.get(topic) if self.lifecycle.state is State.RUNNING else None

    def _take(self, queue: MessageQueue, subscribed: Subscription) -> None:
        pulls = QueuePulls(
            self._instance, self.group, queue, subscribed, self._pull_settings, is_lite=True
        )
        taken = LiteQueue(
            pulls, self._starts, self._settings.buffering, self._buffered, self._has_arrived
        )
        self._queues[queue] = taken
        if self.lifecycle.state is State.RUNNING:
            taken.start(self._instance.ports)

    async def _give_up(self, queues: Collection[MessageQueue]) -> None:
        for queue in queues:
            given = self._queues.pop(queue)
            given.stop()
            if given in self._ready:
                self._ready.remove(given)
            if given in self._handed:
                self._handed.remove(given)
            if self._settings.auto_commit and given.consumed is not None:
                self._offsets.update(queue, given.consumed)
        try:
            await self._offsets.persist(queues, confirm=True)
        except (GantryError, OSError) as error:
            names = ", ".join(map(str, queues))
            self._log(
                f"offsets not persisted, messages are delivered again queues={names} error={error}"
            )
        for queue in queues:
            self._offsets.forget(queue)

    # ------------------------------------------------------------------ which queues

    def subscribe(self, topic: str, expression: Expression = EVERYTHING) -> None:
        """Subscribe to a topic; raises SubscriptionError. Refusals of brokers are raised by
        `poll`."""
        if self._is_assigned:
            raise _exclusive()
        subscribed = subscription(topic, expression, self._next_version())
        self._subscriptions[topic] = subscribed
        for queue in self._queues.values():
            if queue.queue.topic == topic:
                queue.pulls.subscribe(subscribed)
        self._instance.rebalance_wanted.fire()

    def unsubscribe(self, topic: str) -> None:
        if self._subscriptions.pop(topic, None) is not None:
            self._instance.rebalance_wanted.fire()

    async def assign(
        self, queues: Iterable[MessageQueue], expression: Expression = EVERYTHING
    ) -> None:
        """Read exactly these queues; queues that it already reads continue at their offsets."""
        if self._subscriptions:
            raise _exclusive()
        self._is_assigned = True
        wanted = dict.fromkeys(queues)
        version = self._next_version()
        topics = {queue.topic for queue in wanted}
        subscribed = {topic: subscription(topic, expression, version) for topic in topics}
        for each in subscribed.values():
            if self.lifecycle.state is State.RUNNING:
                await check(self._instance, self.group, each)
        await self._give_up([queue for queue in self._queues if queue not in wanted])
        for queue in wanted:
            if queue not in self._queues:
                self._take(queue, subscribed[queue.topic])
            else:
                self._queues[queue].pulls.subscribe(subscribed[queue.topic])

    @property
    def assignment(self) -> list[MessageQueue]:
        """The queues that the consumer reads now, sorted."""
        return sorted(self._queues)

    async def queues_of(self, topic: str) -> list[MessageQueue]:
        """Return all readable queues of a topic; raises RouteError."""
        await self._instance.refresh_route(topic)
        return sorted((await self._instance.route(topic)).subscribe)

    def on_queues_changed(self, topic: str, listener: QueuesChanged) -> None:
        """Call the listener when the queues of the topic change."""
        self._watch.listen(topic, listener)

    # ------------------------------------------------------------------ messages

    def at_hand(self, limit: int = 0) -> list[ReceivedMessage]:
        """Return what `poll` would return without waiting; at most `limit` messages if given. Hot
        path."""
        with self._polled:
            return self.take(limit or self._settings.pull_batch)

    async def poll(self, timeout_s: float | None = None) -> list[ReceivedMessage]:
        """Return messages of one pull from one queue; empty after the timeout."""
        wait_s = self._settings.poll_timeout_s if timeout_s is None else timeout_s
        until = self._now() + wait_s
        with self._polled:
            while not (messages := self.take(self._settings.pull_batch)):
                if not await Wait(until, self._arrived):
                    break
        return messages

    async def next_message(self) -> ReceivedMessage | None:
        """Return the next message; None when the consumer is closed."""
        with self._polled:
            while self.lifecycle.state is State.RUNNING:
                taken = self.take(1)
                if taken:
                    return taken[0]
                await Wait(FOREVER, self._arrived)
        return None

    def take(self, limit: int) -> list[ReceivedMessage]:
        """Return buffered messages without waiting. Hot path."""
        self.lifecycle.must_run()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        self._settle()
        ready = self._ready
        for _ in range(len(ready)):
            queue = ready[0]
            if queue.can_give and self._queues.get(queue.queue) is queue:
                return self._take_from(queue, limit)
            ready.popleft()
            if queue.is_paused:
                ready.append(queue)
        return []

    def _take_from(self, queue: LiteQueue, limit: int) -> list[ReceivedMessage]:
        buffered, room = self._buffered, self._settings.buffering.messages_max
        was_full = buffered.count >= room
        messages = queue.take(limit)
        self._handed.append(queue)
        if queue.is_between_pulls:
            self._ready.rotate(-1)  # round robin among the queues
        if was_full and buffered.count < room:
            for each in self._queues.values():
                each.wake()
        return messages

    def _has_arrived(self, queue: LiteQueue) -> None:
        if queue not in self._ready:
            self._ready.append(queue)
        self._arrived.fire()

    # ------------------------------------------------------------------ progress

    async def commit(self, offsets: Mapping[MessageQueue, int] | None = None) -> None:
        """Commit everything that was handed out, or these offsets, each of which is the next to
        consume. Raises if a broker did not accept a commit."""
        self.lifecycle.must_run()
        if offsets is None:
            self._settle()
            self._note()
            await self._offsets.persist(tuple(self._queues), confirm=True)
            return
        for queue, offset in offsets.items():
            self._offsets.update(queue, offset)
            mine = self._queues.get(queue)
            if mine is not None:
                mine.consumed = offset
        await self._offsets.persist(tuple(offsets), confirm=True)

    async def committed(self, queue: MessageQueue) -> int | None:
        """Return the committed offset; None if the group has none."""
        return await self._offsets.read(queue)

    def _settle(self) -> None:
        """Mark the messages handed out as consumed."""
        for queue in self._handed:
            queue.settle()
        self._handed.clear()

    def _note(self) -> None:
        """Copy the consumed offsets to the offset store."""
        for queue, mine in self._queues.items():
            if mine.consumed is not None:
                self._offsets.update(queue, mine.consumed)

    def _now(self) -> float:
        return self._instance.ports.clock.monotonic()

    def _next_version(self) -> int:
        return self._versions.next(self._instance.ports.clock.wall_ms())

    def _log(self, line: str) -> None:
        self._instance.ports.log(f"{line} group={self.group}")


def _exclusive() -> StateError:
    return StateError(
        "Subscribe and assign are mutually exclusive: a consumer either shares topics with its"
        " group or reads the queues that the application assigns"
    )
