"""Moves a pull consumer to other offsets of its queues, and pauses and resumes queues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import final

from gantrymq.client.core.errors import StateError
from gantrymq.client.core.flow.flow_steps import Signal
from gantrymq.client.core.flow.lifecycle import Lifecycle
from gantrymq.client.core.group import queue_offsets
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.pull.lite_queue import LiteQueue
from gantrymq.wire.bodies.shared import MessageQueue


@final
class LitePositions:
    """The positions of one pull consumer, which owns this object, and the queues that both use."""

    __slots__ = ("_arrived", "_instance", "_lifecycle", "_queues")

    def __init__(
        self,
        instance: Instance,
        lifecycle: Lifecycle,
        queues: Mapping[MessageQueue, LiteQueue],
        arrived: Signal,
    ) -> None:
        self._instance = instance
        self._lifecycle = lifecycle
        self._queues = queues
        self._arrived = arrived

    async def seek(self, queue: MessageQueue, offset: int) -> None:
        """Continue at this offset; raises StateError if the queue is not assigned to this consumer
        or does not contain the offset."""
        self._mine(queue)
        low = await queue_offsets.first(self._instance, queue)
        high = await queue_offsets.end(self._instance, queue)
        if not low <= offset <= high:
            raise StateError(
                f"Seek offset illegal, seek offset = {offset}, min offset = {low}, max offset ="
                f" {high}"
            )
        self._go_to(queue, offset)

    async def seek_to_begin(self, queue: MessageQueue) -> None:
        self._mine(queue)
        self._go_to(queue, await queue_offsets.first(self._instance, queue))

    async def seek_to_end(self, queue: MessageQueue) -> None:
        self._mine(queue)
        self._go_to(queue, await queue_offsets.end(self._instance, queue))

    async def offset_for_timestamp(self, queue: MessageQueue, timestamp_ms: int) -> int:
        return await queue_offsets.at_time(self._instance, queue, timestamp_ms)

    def _go_to(self, queue: MessageQueue, offset: int) -> None:
        self._lifecycle.must_run()
        self._mine(queue).go_to(offset, self._instance.ports)

    def pause(self, queues: Iterable[MessageQueue]) -> None:
        """Stop returning messages of these queues; a pull in flight completes, no further one
        starts."""
        for queue in queues:
            self._mine(queue).is_paused = True

    def resume(self, queues: Iterable[MessageQueue]) -> None:
        for queue in queues:
            mine = self._mine(queue)
            mine.is_paused = False
            mine.wake()
        self._arrived.fire()

    def _mine(self, queue: MessageQueue) -> LiteQueue:
        mine = self._queues.get(queue)
        if mine is None:
            raise StateError(
                "The message queue is not in assigned list, may be rebalancing, message queue:"
                f" {queue}; `assignment` lists the assigned queues"
            )
        return mine
