"""Determines the offset at which a group starts to consume a queue.

    the committed offset, if there is one; otherwise:
    LAST_OFFSET    the end: only messages sent from now on   a retry queue: its beginning
    FIRST_OFFSET   0, which the broker corrects to the first existing offset
    TIMESTAMP      the first message stored at or after it   a retry queue: its end

A broker that still has the very first message of a queue returns 0 instead of "no offset", so a new
group starts with that message there.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, final

from gantrymq.client.core.group import queue_offsets
from gantrymq.client.core.group.offset_store import OffsetStore
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.message.namespace import RETRY_PREFIX
from gantrymq.wire.bodies.shared import MessageQueue

# The default for TIMESTAMP, as in Java's clients.
TIMESTAMP_AGO_MS: Final = 30 * 60 * 1000


class ConsumeFrom(Enum):
    """Where a group without a committed offset starts; the values are Java's."""

    LAST_OFFSET = "CONSUME_FROM_LAST_OFFSET"
    FIRST_OFFSET = "CONSUME_FROM_FIRST_OFFSET"
    TIMESTAMP = "CONSUME_FROM_TIMESTAMP"


@final
class StartOffsets:
    """Start offsets of one group."""

    __slots__ = ("_consume_from", "_instance", "_store", "_timestamp_ms")

    def __init__(
        self,
        instance: Instance,
        store: OffsetStore,
        consume_from: ConsumeFrom,
        timestamp_ms: int | None,
    ) -> None:
        """`timestamp_ms` is for TIMESTAMP; None: half an hour before now."""
        if timestamp_ms is None:
            timestamp_ms = instance.ports.clock.wall_ms() - TIMESTAMP_AGO_MS
        self._instance = instance
        self._store = store
        self._consume_from = consume_from
        self._timestamp_ms = timestamp_ms

    async def of(self, queue: MessageQueue) -> int:
        """Return the start offset; raises BrokerError, RequestError or RouteError if it is
        unknown."""
        stored = await self._store.read(queue, from_store=True)
        if stored is not None:
            return stored
        is_retry = queue.topic.startswith(RETRY_PREFIX)
        if self._consume_from is ConsumeFrom.FIRST_OFFSET:
            return 0
        if self._consume_from is ConsumeFrom.LAST_OFFSET:
            return 0 if is_retry else await queue_offsets.end(self._instance, queue)
        if is_retry:
            return await queue_offsets.end(self._instance, queue)
        return await queue_offsets.at_time(self._instance, queue, self._timestamp_ms)

    def is_guess(self, queue: MessageQueue, offset: int) -> bool:
        """Tell whether the offset is the 0 that stands for the oldest message. It is not progress
        until a broker has corrected it, and a restarted consumer computes the same."""
        if offset != 0 or self._consume_from is ConsumeFrom.TIMESTAMP:
            return False
        is_retry = queue.topic.startswith(RETRY_PREFIX)
        return is_retry or self._consume_from is ConsumeFrom.FIRST_OFFSET
