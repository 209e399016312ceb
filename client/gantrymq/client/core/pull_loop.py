"""Pulls one queue for as long as it is ours: one flow a queue.

    full                 wait until there is room, 50 ms at most, then look again
    consumer suspended   look again after a second
    lock not ours        look again after a tenth of one: it is dropped soon, and taken anew
    another filter       wait until brokers were told of it; what is answered until then is void,
                         and pulled again: it may lack what is wanted by now
    found, nothing new   the next pull at once: the broker holds it until there is news
    broker busy          again after 20 ms
    an error             again after a second; a broker that has forgotten us is told meanwhile
    no such offset       the queue is dropped, and taken anew where the broker says

Invariant: what was pulled is handed on in the order of its offsets, and `pass_to` is told only what
lies before all that is still to come. Of a queue that may be another member's by now nothing is
pulled, and no broker is told how far we were: that would undo the other one's progress.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gantrymq.client.core.errors import BrokerError
from gantrymq.client.core.instance import Instance
from gantrymq.client.core.process_queue import Limits, ProcessQueue, Slice
from gantrymq.client.core.pulls import PullResult, PullSettings, PullStatus, QueuePulls
from gantrymq.client.core.safe_text import as_told
from gantrymq.client.core.steps import Wait
from gantrymq.client.core.subscriptions import Subscription
from gantrymq.remoting.failures import ConnectionLostError, RequestError
from gantrymq.wire.codes import ResponseCode

FULL_PAUSE_S: Final = 0.05
BUSY_PAUSE_S: Final = 0.02
ERROR_PAUSE_S: Final = 1.0
SUSPENDED_PAUSE_S: Final = 1.0
UNTOLD_PAUSE_S: Final = 1.0
UNLOCKED_PAUSE_S: Final = 0.1

# What a broker says that missed a heartbeat, or was started since the last one.
_UNTOLD: Final = frozenset(
    {ResponseCode.SUBSCRIPTION_NOT_EXIST, ResponseCode.SUBSCRIPTION_NOT_LATEST}
)


class Puller(Protocol):
    """The consumer as its pulls see it."""

    @property
    def is_suspended(self) -> bool: ...

    def subscription(self, topic: str) -> Subscription | None:
        """What is wanted of it now; None while brokers were not told, or when nothing is."""

    def holds(self, process_queue: ProcessQueue) -> bool:
        """Whether its lock is ours now, where one is needed."""

    def committed(self, process_queue: ProcessQueue) -> int | None:
        """How far brokers may be told that it is; None when they are told nothing."""

    def tell_again(self) -> None:
        """A broker does not know what is wanted."""

    def deliver(self, found: Slice) -> None:
        """To be consumed."""


@final
class PullLoop:
    """Of one consumer; `run` is a flow for one queue."""

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
            except Exception as error:  # a flow that ended would be missed: the queue stands still
                await self._failed(process_queue, offset, error)
                continue
            process_queue.pull_trouble = None
            if self._is_wanted_still(subscription) and not process_queue.is_dropped:
                offset = result.next_offset
                await self._take(process_queue, result)

    def _is_wanted_still(self, subscription: Subscription) -> bool:
        """Brokers answer by the newest filter they were told of, whichever a pull was made by."""
        current = self._puller.subscription(subscription.topic)
        return current is not None and current.wish == subscription.wish

    async def _may_pull(
        self, process_queue: ProcessQueue, subscription: Subscription | None
    ) -> bool:
        """Now; if not, it has been waited until that may have changed."""
        now = process_queue.pulled_at = self._clock.monotonic()
        if self._puller.is_suspended:
            await Wait(now + SUSPENDED_PAUSE_S, process_queue.changed)
            return False
        if subscription is None:
            await Wait(now + UNTOLD_PAUSE_S, process_queue.changed)
            return False
        if not self._puller.holds(process_queue):
            await Wait(now + UNLOCKED_PAUSE_S, process_queue.changed)
            return False
        if process_queue.excess(self._limits) is None:
            return True
        process_queue.wakes_at = self._limits.count
        await Wait(now + FULL_PAUSE_S, process_queue.changed)
        process_queue.wakes_at = -1
        return False

    async def _take(self, process_queue: ProcessQueue, result: PullResult) -> None:
        status = result.status
        if result.messages:
            self._puller.deliver(process_queue.put(result.messages, result.bytes))
            if self._interval_s:
                await Wait(self._clock.monotonic() + self._interval_s, process_queue.changed)
        elif status is PullStatus.FLOW_CONTROL:
            await Wait(self._clock.monotonic() + BUSY_PAUSE_S)
        elif status is PullStatus.OFFSET_ILLEGAL:
            self._instance.ports.log(
                f"the pull request offset illegal, {process_queue.queue}: the queue has offsets"
                f" {result.min_offset} to {result.max_offset}; going on at {result.next_offset}"
            )
            process_queue.move_to(result.next_offset)
            self._instance.rebalance_wanted.fire()
        else:
            process_queue.pass_to(result.next_offset)

    async def _failed(self, process_queue: ProcessQueue, offset: int, error: Exception) -> None:
        """Told once, not once a second."""
        cause, shown = as_told(error)
        trouble = f"pulls from offset {offset} fail: {cause}"
        if process_queue.pull_trouble is None:
            self._instance.ports.log(f"{process_queue.queue}: {trouble}", shown)
        process_queue.pull_trouble = trouble
        if isinstance(error, RequestError):
            self._instance.doubts.add(process_queue.queue.topic)
        if _is_forgotten(error):
            self._puller.tell_again()
        await Wait(self._clock.monotonic() + ERROR_PAUSE_S, process_queue.changed)


def _is_forgotten(error: Exception) -> bool:
    """A broker keeps a member for as long as its connection."""
    if isinstance(error, BrokerError):
        return error.code in _UNTOLD
    return isinstance(error, ConnectionLostError)
