"""Provides the push consumer core: a member of a consumer group that calls listeners.

    heartbeat ── rebalance ──> a queue ── pulls ──> process queue ── listener ──> settled
            the commit offset is persisted every 5 s, and when a queue is released

Invariant: progress passes a message only after its listener consumed it, or a broker stored it
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final, final

from gantrymq.base.errors import GantryError
from gantrymq.client.core.errors import StateError
from gantrymq.client.core.flow.flow_steps import Call
from gantrymq.client.core.flow.lifecycle import Lifecycle, State
from gantrymq.client.core.group.group_name import check_group
from gantrymq.client.core.group.offset_store import offset_store
from gantrymq.client.core.group.process_queue import Limits, ProcessQueue, Slice
from gantrymq.client.core.group.queue_locks import RENEWAL_S, QueueLocks
from gantrymq.client.core.group.rebalance import Rebalance
from gantrymq.client.core.group.requested_subscriptions import Subscriptions
from gantrymq.client.core.group.start_offset import StartOffsets
from gantrymq.client.core.group.subscriptions import (
    EVERYTHING,
    Expression,
    Subscription,
    check,
)
from gantrymq.client.core.instance.hooks import ConsumeHook
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.message.namespace import retry_topic, unwrap, wrap
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.ports import Running
from gantrymq.client.core.pull import running_info
from gantrymq.client.core.pull.consume_stats import ConsumeStats
from gantrymq.client.core.pull.consumer_requests import ConsumerRequests
from gantrymq.client.core.pull.pull_loop import PullLoop
from gantrymq.client.core.pull.pulls import PullSettings
from gantrymq.client.core.push.concurrent_consumption import ConcurrentConsumption
from gantrymq.client.core.push.consume_settings import ConsumeSettings
from gantrymq.client.core.push.hooked_listener import hooked
from gantrymq.client.core.push.listeners import Listener, Listeners
from gantrymq.client.core.push.orderly_consumption import OrderlyConsumption
from gantrymq.client.core.push.queue_status import QueueStatus
from gantrymq.client.core.push.send_back import MAX_CONCURRENT, MAX_ORDERLY, SendBack
from gantrymq.client.core.trace.tracer import Tracer
from gantrymq.wire.bodies.heartbeat import BROADCASTING, CLUSTERING, ConsumerData
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.jsonvalue import JsonObject

# Minimum pause between heartbeats on request of pulls, for brokers that forgot this member.
HEARTBEAT_PAUSE_S: Final = 1.0


@final
class PushGroupMember:
    """One push consumer of a client. `subscribe`, `start`, `close`; a ConsumerMember of its
    instance."""

    def __init__(
        self,
        instance: Instance,
        group: str,
        settings: ConsumeSettings,
        hooks: Sequence[ConsumeHook] = (),
        *,
        offset_folder: str = "",
    ) -> None:
        """`offset_folder` is the folder of a broadcasting group's offsets."""
        check_group(group)
        self.settings = settings
        self.stats = ConsumeStats()
        self.is_suspended = False
        namespace = instance.settings.namespace
        self.group = wrap(namespace, group)
        self._instance = instance
        self.lifecycle = Lifecycle("consumer")
        self._namespace = namespace
        self._tracer = self._new_tracer()
        self._hooks = (*hooks, *filter(None, [self._tracer]))
        self._subscriptions = Subscriptions()
        self._heartbeat_at = -HEARTBEAT_PAUSE_S
        self._listeners = Listeners(self._unwrapped if namespace else None)
        self._offsets = offset_store(
            instance, self.group, offset_folder if settings.broadcasting else None
        )
        self._locks = QueueLocks(instance, self.group) if self._is_locking else None
        send_back = None if settings.broadcasting else self._send_back()
        kind = OrderlyConsumption if settings.orderly else ConcurrentConsumption
        self._consumption = kind(instance.ports, self._listeners, settings, self.stats, send_back)
        self._rebalance = self._new_rebalance()
        self._pull_loop = self._new_pull_loop()
        self._pulls: dict[ProcessQueue, Running] = {}
        self._renewal: Running | None = None
        self._requests = ConsumerRequests(instance, self.group, self, self.consume_directly)
        self._started_ms = 0
        if not settings.broadcasting:
            self._subscriptions.subscribe(retry_topic(self.group), EVERYTHING, self._now_ms())

    # ------------------------------------------------------------------ construction

    @property
    def _is_locking(self) -> bool:
        return self.settings.orderly and not self.settings.broadcasting

    def _new_tracer(self) -> Tracer | None:
        if not self.settings.trace:
            return None
        return Tracer(self._instance, self.group, "CONSUME", self.settings.trace_topic)

    def _send_back(self) -> SendBack:
        default = MAX_ORDERLY if self.settings.orderly else MAX_CONCURRENT
        times = self.settings.max_reconsume_times
        return SendBack(self._instance, self.group, default if times < 0 else times)

    def _new_rebalance(self) -> Rebalance:
        settings = self.settings
        starts = StartOffsets(
            self._instance, self._offsets, settings.consume_from, settings.consume_timestamp_ms
        )
        return Rebalance(
            self._instance,
            self.group,
            self,
            self._offsets,
            starts,
            allocate=None if settings.broadcasting else settings.allocate,
            locks=self._locks,
        )

    def _new_pull_loop(self) -> PullLoop:
        settings = self.settings
        span = None if settings.orderly else settings.max_span
        limits = self._limits = Limits(settings.pull_threshold, settings.pull_threshold_bytes, span)
        pull_settings = PullSettings(
            count=settings.pull_batch, sends_filter=settings.post_subscription
        )
        return PullLoop(
            self._instance, self.group, self, limits, pull_settings, settings.pull_interval_s
        )

    # ------------------------------------------------------------------ lifecycle

    async def start(self) -> None:
        """Start; raises SubscriptionError if a broker refuses a filter."""
        self.lifecycle.begin()
        await self._offsets.load()
        for topic in self.topics:
            await self._find(topic)
        for subscribed in self._subscriptions.all:
            await check(self._instance, self.group, subscribed)
        self._started_ms = self._now_ms()
        self._instance.add_consumer(self.group, self)
        self._requests.begin()
        self._consumption.start()
        if self._locks is not None:
            renew = partial(self._renew, self._locks)
            self._renewal = self._instance.repeat("queue locks", renew, RENEWAL_S)
        if self._tracer is not None:
            self._tracer.start()
        await self._heartbeat()
        if not await self._round() or self._instance.missing_topics():
            self._instance.rebalance_wanted.fire()
        self.lifecycle.began()

    async def _heartbeat(self) -> None:
        """Announce the subscriptions by a heartbeat; then wake pulls that wait for that."""
        self._heartbeat_at = self._instance.ports.clock.monotonic()
        await self._subscriptions.announce(self._instance.heartbeat())
        for process_queue in self._rebalance.queues.values():
            process_queue.changed.fire()

    async def _find(self, topic: str) -> None:
        """Fetch the route of a topic; a topic that does not exist yet may be created later."""
        try:
            await self._instance.refresh_route(topic)
        except GantryError as error:
            self._instance.ports.log(f"route not known yet topic={topic} error={error}")

    async def close(self) -> None:
        """Stop: wait for listeners, persist offsets, release the queues, unregister at the
        brokers."""
        if not self.lifecycle.end():
            return
        if self._instance.consumers.get(self.group) is not self:
            return
        self.is_suspended = True
        self._requests.end()
        for running in self._pulls.values():
            running.cancel()
        now = self._instance.ports.clock.monotonic()
        await self._consumption.stop(now + self.settings.close_timeout_s)
        await self._rebalance.close()
        if self._renewal is not None:
            self._renewal.cancel()
        if self._tracer is not None:
            await self._tracer.close()
        await self._instance.remove_consumer(self.group, self)

    def must_not_be_called_by(self, running: object) -> None:
        """Raise StateError if `running` is one of this consumer's workers: `close` would wait for
        itself."""
        if self._consumption.is_worker(running):
            raise StateError(
                "A listener cannot wait for the close of its own consumer, because the close waits"
                " for the listener. Close the consumer where it was started (for example when an"
                " asyncio.Event is set), or call asyncio.create_task(consumer.close()) and return."
            )

    def suspend(self) -> None:
        """Stop pulling; buffered messages are still consumed."""
        self.is_suspended = True

    def resume(self) -> None:
        self.lifecycle.must_run()
        self.is_suspended = False
        self._instance.rebalance_wanted.fire()

    async def _renew(self, locks: QueueLocks) -> None:
        await locks.renew(self._rebalance.queues.values())

    # ------------------------------------------------------------------ subscriptions

    def subscribe(self, topic: str, expression: Expression, listener: Listener) -> None:
        """Subscribe, before or after the start; a second call for a topic replaces the first.
        Raises SubscriptionError if the expression is invalid."""
        topic = wrap(self._namespace, topic)
        self._subscriptions.subscribe(topic, expression, self._now_ms())
        group = unwrap(self._namespace, self.group)
        self._listeners.add(topic, hooked(listener, group, self._hooks, self._instance.ports))
        self._announce(topic)

    def unsubscribe(self, topic: str) -> None:
        topic = wrap(self._namespace, topic)
        self._subscriptions.unsubscribe(topic)
        self._listeners.remove(topic)
        self._announce(topic)

    def subscription(self, topic: str) -> Subscription | None:
        return self._subscriptions.find(topic)

    def request_heartbeat(self) -> None:
        now = self._instance.ports.clock.monotonic()
        if self.lifecycle.state is State.RUNNING and now >= self._heartbeat_at + HEARTBEAT_PAUSE_S:
            self._heartbeat_at = now
            self._instance.ports.start(self._heartbeat(), "requested heartbeat")

    def _announce(self, topic: str) -> None:
        if self.lifecycle.state is State.RUNNING:
            self._instance.ports.start(self._announce_to_brokers(topic), f"subscribe {topic}")

    async def _announce_to_brokers(self, topic: str) -> None:
        if self._instance.routes.find(topic) is None:
            await self._find(topic)
        await self._heartbeat()
        self._instance.rebalance_wanted.fire()

    # ------------------------------------------------------------------ as its instance sees it

    @property
    def topics(self) -> Iterable[str]:
        return self._subscriptions.topics

    @property
    def data(self) -> ConsumerData:
        return ConsumerData(
            group_name=self.group,
            message_model=BROADCASTING if self.settings.broadcasting else CLUSTERING,
            consume_from_where=self.settings.consume_from.value,
            subscriptions=tuple(each.data for each in self._subscriptions.all),
            unit_mode=self._instance.settings.unit_mode,
        )

    async def rebalance(self) -> bool:
        return self.lifecycle.state is not State.RUNNING or await self._round()

    async def _round(self) -> bool:
        changed: list[str] = []
        # Queues of a topic whose subscription no broker knows yet could not be pulled.
        is_balanced = await self._rebalance.round(self._subscriptions.announced, changed.append)
        for topic in changed:  # brokers use the subscription with the highest version
            self._subscriptions.renew(topic, self._now_ms())
        if changed:
            self._divide_limits()
            await self._heartbeat()
        return is_balanced

    def _divide_limits(self) -> None:
        """Divide the limits of all queues together equally among the queues."""
        settings, count = self.settings, max(1, len(self._rebalance.queues))
        if settings.topic_pull_threshold is not None:
            self._limits.count = max(1, settings.topic_pull_threshold // count)
        if settings.topic_pull_threshold_bytes is not None:
            self._limits.bytes = max(1, settings.topic_pull_threshold_bytes // count)

    async def persist_offsets(self) -> None:
        await self._offsets.persist(self._rebalance.note_offsets())

    # ------------------------------------------------------------------ as its queues see it

    def begin(self, process_queue: ProcessQueue, offset: int) -> None:
        self._consumption.begin(process_queue)
        queue = process_queue.queue
        pulls = self._pull_loop.run(process_queue, offset)
        name = f"pull {queue.topic} {queue.broker_name} {queue.queue_id}"
        self._pulls[process_queue] = self._instance.ports.start(pulls, name)

    def end(self, process_queue: ProcessQueue) -> bool:
        running = self._pulls.pop(process_queue, None)
        if running is not None:
            running.cancel()
        return self._consumption.end(process_queue)

    def deliver(self, found: Slice) -> None:
        self._consumption.deliver(found)

    def holds(self, process_queue: ProcessQueue) -> bool:
        return self._rebalance.holds(process_queue)

    def committed(self, process_queue: ProcessQueue) -> int | None:
        """Return the offset to commit; None for a broadcasting group, which uses a file."""
        return None if self.settings.broadcasting else self._rebalance.committed(process_queue)

    # ------------------------------------------------------------------ as operators see it

    def status(self) -> list[QueueStatus]:
        """Return the state of each queue that is assigned to this consumer."""
        now = self._instance.ports.clock.monotonic()
        return [
            QueueStatus(
                queue,
                each.commit_offset,
                each.count,
                is_locked=each.is_locked(now),
                trouble=each.trouble or each.pull_trouble,
            )
            for queue, each in sorted(self._rebalance.queues.items())
        ]

    def reset(self, topic: str, offsets: Mapping[MessageQueue, int]) -> None:
        for queue, process_queue in self._rebalance.queues.items():
            offset = offsets.get(queue)
            if offset is not None and queue.topic == topic:
                process_queue.move_to(offset)
        self._instance.rebalance_wanted.fire()

    def progress(self, topic: str) -> dict[MessageQueue, int]:
        self._rebalance.note_offsets()
        return self._offsets.offsets(topic)

    def running_info(self) -> JsonObject:
        settings = self.settings
        clock = self._instance.ports.clock
        properties = {
            "PROP_NAMESERVER_ADDR": ";".join(self._instance.name_servers.addresses),
            "PROP_CONSUME_TYPE": "CONSUME_PASSIVELY",
            "PROP_CONSUMEORDERLY": str(settings.orderly).lower(),
            "PROP_CONSUMER_START_TIMESTAMP": str(self._started_ms),
            "PROP_THREADPOOL_CORE_SIZE": str(settings.consume_threads),
            "consumeMessageBatchMaxSize": str(settings.consume_batch),
            "pullBatchSize": str(settings.pull_batch),
            "pullThresholdForQueue": str(settings.pull_threshold),
            "language": "PYTHON",
        }
        now, wall_ms = clock.monotonic(), clock.wall_ms()
        queues = {
            queue: running_info.queue_info(each, now, wall_ms)
            for queue, each in self._rebalance.queues.items()
        }
        subscribed = [each.data for each in self._subscriptions.all]
        return running_info.running_info(queues, properties, subscribed, self.stats.failures)

    async def consume_directly(self, message: ReceivedMessage) -> JsonObject:
        clock = self._instance.ports.clock
        began = clock.monotonic()
        outcome: object = None
        error: Exception | None = None
        found = self._listeners.of_message(message)
        try:
            outcome = await Call(found, [message])
        except Exception as raised:
            error = raised
        return running_info.directly_result(
            outcome,
            error,
            round((clock.monotonic() - began) * 1000),
            is_orderly=self.settings.orderly,
            auto_commit=self.settings.auto_commit,
        )

    def _unwrapped(self, topic: str) -> str:
        return unwrap(self._namespace, topic)

    def _now_ms(self) -> int:
        return self._instance.ports.clock.wall_ms()
