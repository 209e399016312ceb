"""Pulls one queue of a push consumer as long as it is assigned: one flow per queue.

    buffer full          wait until there is room, 50 ms at most, then check again
    consumer suspended   check again after a second
    lock not held        check again after 0.1 s; the queue is soon dropped and taken anew
    filter changed       wait until the brokers have it; a response to the old filter is discarded
                         and pulled again, because it may lack messages that match now
    found, nothing new   pull again at once: the broker holds the pull until there is a message
    broker busy          pull again after 20 ms
    error                pull again after a second; if the broker does not know this consumer, a
                         heartbeat is sent meanwhile
    no such offset       drop the queue; it is taken anew at the offset that the broker returned

Invariant: pulled messages are delivered in the order of their offsets, and `pass_to` gets only an
offset before all messages that are still to come. A queue that may belong to another member by now
is not pulled, and its offset is not committed, since that would overwrite the other member's
progress.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gantrymq.client.core.errors import BrokerError
from gantrymq.client.core.flow.flow_steps import Wait
from gantrymq.client.core.group import queue_phase
from gantrymq.client.core.group.process_queue import Limits, ProcessQueue, Slice
from gantrymq.client.core.group.subscriptions import Subscription
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.pull.pulls import PullResult, PullSettings, PullStatus, QueuePulls
from gantrymq.client.core.safe_text import as_told
from gantrymq.remoting.failures import ConnectionLostError, RequestError
from gantrymq.wire.codes import ResponseCode

FULL_PAUSE_S: Final = 0.05
BUSY_PAUSE_S: Final = 0.02
ERROR_PAUSE_S: Final = 1.0
SUSPENDED_PAUSE_S: Final = 1.0
UNKNOWN_PAUSE_S: Final = 1.0
UNLOCKED_PAUSE_S: Final = 0.1

# Codes of a broker that missed a heartbeat or was restarted since the last one.
_UNKNOWN: Final = frozenset(
    {ResponseCode.SUBSCRIPTION_NOT_EXIST, ResponseCode.SUBSCRIPTION_NOT_LATEST}
)


class Puller(Protocol):
    """What the pull loop needs of its consumer."""

    @property
    def is_suspended(self) -> bool: ...

    def subscription(self, topic: str) -> Subscription | None:
        """Return the current subscription; None while brokers do not have it, or if there is
        none."""

    def holds(self, process_queue: ProcessQueue) -> bool:
        """Tell whether this consumer holds the queue's lock now, if it needs one."""

    def committed(self, process_queue: ProcessQueue) -> int | None:
        """Return the offset to commit with the pull; None to commit nothing."""

    def request_heartbeat(self) -> None:
        """Send a heartbeat again, because a broker does not know the subscription."""

    def deliver(self, found: Slice) -> None:
        """Hand the messages over for consumption."""


@final
class PullLoop:
    """The pulls of one push consumer; `run` is a flow for one queue."""

    __slots__ = ("_clock", "_group", "_instance", "_interval_s", "_limits", "_puller", "_settings")

    def __init__(
        self,
        instance: Instance,
        group: str,
        puller: Puller,
        limits: Limits,
        settings: PullSettings,
        interval_s: float,
    ) -> None:
        self._instance = instance
        self._clock = instance.ports.clock
        self._group = group
        self._puller = puller
        self._limits = limits
        self._settings = settings
        self._interval_s = interval_s

    async def run(self, process_queue: ProcessQueue, offset: int) -> None:
        queue = process_queue.queue
        pulls: QueuePulls | None = None
        while not process_queue.is_dropped:
            subscription = self._puller.subscription(queue.topic)
            if not await self._may_pull(process_queue, subscription):
                continue
            assert subscription is not None, "nothing is pulled that is not wanted"
            if pulls is None:
                pulls = QueuePulls(self._instance, self._group, queue, subscription, self._settings)
            elif pulls.subscription is not subscription:
                pulls.subscribe(subscription)
            committed = self._puller.committed(process_queue)
            try:
                result = await pulls.pull(offset, commit_offset=committed)
            except Exception as error:  # the flow must not end, or the queue would stall
                await self._failed(process_queue, offset, error)
                continue
            process_queue.pull_trouble = None
            if not self._is_wanted_still(subscription):
                process_queue.note(queue_phase.FILTER_CHANGED)
            elif not process_queue.is_dropped:
                offset = result.next_offset
                await self._take(process_queue, result)

    def _is_wanted_still(self, subscription: Subscription) -> bool:
        """Tell whether the subscription is still current. A broker filters by the newest
        subscription that it knows, regardless of the one a pull was made with."""
        current = self._puller.subscription(subscription.topic)
        return current is not None and current.subscribed_version == subscription.subscribed_version

    async def _may_pull(
        self, process_queue: ProcessQueue, subscription: Subscription | None
    ) -> bool:
        """Tell whether to pull now; if not, first wait until that may have changed."""
        process_queue.pulled_at = self._clock.monotonic()
        if self._puller.is_suspended:
            await self._pause(process_queue, queue_phase.SUSPENDED, SUSPENDED_PAUSE_S)
            return False
        if subscription is None:
            await self._pause(process_queue, queue_phase.UNKNOWN_FILTER, UNKNOWN_PAUSE_S)
            return False
        if not self._puller.holds(process_queue):
            await self._pause(process_queue, queue_phase.UNLOCKED, UNLOCKED_PAUSE_S)
            return False
        if process_queue.excess(self._limits) is None:
            process_queue.note(queue_phase.CLEAR)
            return True
        process_queue.wakes_at = self._limits.count
        await self._pause(process_queue, queue_phase.FULL, FULL_PAUSE_S)
        process_queue.wakes_at = -1
        return False

    async def _pause(self, process_queue: ProcessQueue, event: str, seconds: float) -> None:
        """Wait for `seconds`, or until the queue changes."""
        process_queue.note(event)
        await Wait(self._clock.monotonic() + seconds, process_queue.changed)
        process_queue.note(queue_phase.PAUSE_OVER)

    async def _take(self, process_queue: ProcessQueue, result: PullResult) -> None:
        status = result.status
        if result.messages:
            process_queue.note(queue_phase.FOUND)
            self._puller.deliver(process_queue.put(result.messages, result.bytes))
            if self._interval_s:
                await Wait(self._clock.monotonic() + self._interval_s, process_queue.changed)
        elif status is PullStatus.FLOW_CONTROL:
            process_queue.note(queue_phase.BUSY)
            await Wait(self._clock.monotonic() + BUSY_PAUSE_S)
            process_queue.note(queue_phase.PAUSE_OVER)
        elif status is PullStatus.OFFSET_ILLEGAL:
            self._instance.ports.log(
                f"the pull request offset illegal, {process_queue.queue}: the queue has offsets"
                f" {result.min_offset} to {result.max_offset}; going on at {result.next_offset}"
            )
            process_queue.move_to(result.next_offset)
            self._instance.rebalance_wanted.fire()
        else:
            process_queue.note(queue_phase.NOTHING_NEW)
            process_queue.pass_to(result.next_offset)

    async def _failed(self, process_queue: ProcessQueue, offset: int, error: Exception) -> None:
        """Record a failed pull and wait; only the first of consecutive failures is logged."""
        cause, shown = as_told(error)
        trouble = f"pulls from offset {offset} fail: {cause}"
        if process_queue.pull_trouble is None:
            self._instance.ports.log(f"{process_queue.queue}: {trouble}", shown)
        process_queue.pull_trouble = trouble
        if isinstance(error, RequestError):
            self._instance.route_refresher.add(process_queue.queue.topic)
        if _is_unknown_to_broker(error):
            self._puller.request_heartbeat()
        await self._pause(process_queue, queue_phase.FAILED, ERROR_PAUSE_S)


def _is_unknown_to_broker(error: Exception) -> bool:
    """Tell whether the broker has forgotten this consumer, as it does when the connection
    closes."""
    if isinstance(error, BrokerError):
        return error.code in _UNKNOWN
    return isinstance(error, ConnectionLostError)
