"""Tracks the messages of one queue that were pulled and are not consumed yet.

    offsets    … 40 | 41 42 43 44 | 45 46 47 48 | 49 …
                      settled ^ 43              ^ next to pull
               each batch is one pull; 43 is the commit offset: the smallest unsettled one

A slice of a batch is settled when it was consumed or sent back to the broker. Slices are settled in
any order. The commit offset passes only a gapless settled range, so after a stop the consumer gets
everything else again.

Invariant: bookkeeping is per slice and batch, never per message; a batch is one pull.
"""

from __future__ import annotations

from collections import deque
from typing import Final, final

from gantrymq.client.core.flow.flow_steps import Signal
from gantrymq.client.core.group.queue_phase import DROP, QUEUE_PHASES, RELEASE, QueuePhase
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.wire.bodies.shared import MessageQueue

# An orderly queue is consumed only while the broker certainly keeps this client's lock: the broker
# keeps it for 60 s after a renewal, and renewals run every 20 s.
LOCK_LIVE_S: Final = 30.0

# A queue not pulled for this long has lost its flow: it is released and taken again.
PULL_IDLE_S: Final = 120.0


@final
class Batch:
    """The messages of one pull, by ascending offset. Hot path, hence slotted."""

    __slots__ = ("_ahead", "bytes", "messages", "owner", "settled")

    def __init__(self, owner: ProcessQueue, messages: list[ReceivedMessage], size: int) -> None:
        self.owner = owner
        self.messages = messages
        self.bytes = size
        self.settled = 0
        """The index below which everything is settled."""
        self._ahead: dict[int, int] = {}

    @property
    def is_settled(self) -> bool:
        return self.settled == len(self.messages)

    def settle(self, start: int, end: int) -> None:
        """Mark the messages from index `start` to `end` as settled."""
        if start != self.settled:
            self._ahead[start] = end
            return
        ahead = self._ahead
        while end in ahead:
            end = ahead.pop(end)
        self.settled = end


@final
class Slice:
    """Consecutive messages of a batch; `start` advances as they are taken. Hot path, hence
    slotted."""

    __slots__ = ("batch", "end", "start")

    def __init__(self, batch: Batch, start: int, end: int) -> None:
        self.batch = batch
        self.start = start
        self.end = end

    @property
    def messages(self) -> list[ReceivedMessage]:
        return self.batch.messages[self.start : self.end]

    def take(self, count: int) -> Slice:
        """Remove and return the first `count` messages."""
        start = self.start
        self.start = min(start + count, self.end)
        return Slice(self.batch, start, self.start)


@final
class Limits:
    """Limits of pulling one queue ahead."""

    __slots__ = ("bytes", "count", "span")

    def __init__(self, count: int, bytes_: int, span: int | None) -> None:
        self.count = count
        self.bytes = bytes_
        self.span = span
        """Maximum distance from the first unsettled to the last offset; None (orderly):
        unlimited."""


@final
class ProcessQueue:
    """The buffered messages of one queue while it is assigned to this consumer."""

    __slots__ = (
        "_batches",
        "_next",
        "bytes",
        "changed",
        "count",
        "is_dropped",
        "is_moved",
        "locked_at",
        "phase",
        "pull_trouble",
        "pulled_at",
        "queue",
        "settled_at",
        "trouble",
        "wakes_at",
    )

    def __init__(self, queue: MessageQueue, now: float) -> None:
        self.queue = queue
        self.count = 0
        self.bytes = 0
        self.is_dropped = False
        self.is_moved = False
        self.phase: QueuePhase = QUEUE_PHASES.initial
        self.pulled_at = now
        """When the last pull began, by the monotonic clock."""
        self.settled_at = now
        self.locked_at: float | None = None
        """When the broker last confirmed this client's lock; None without one."""
        self.pull_trouble: str | None = None
        """Why pulls bring nothing, as text for operators."""
        self.trouble: str | None = None
        """Why nothing is consumed, as text for operators."""
        self.changed = Signal()
        """Fires when room was made or the queue was dropped; the pull loop waits for it."""
        self.wakes_at = -1
        """`changed` fires when no more than this many messages are left."""
        self._batches: deque[Batch] = deque()
        self._next: int | None = None

    # ------------------------------------------------------------------ content

    def put(self, messages: list[ReceivedMessage], size: int) -> Slice:
        """Add the messages of a pull (at least one) and their total bytes."""
        batch = Batch(self, messages, size)
        self._batches.append(batch)
        self.count += len(messages)
        self.bytes += batch.bytes
        self._next = messages[-1].offset + 1
        return Slice(batch, 0, len(messages))

    def pass_to(self, offset: int) -> None:
        """Advance the next offset of an empty queue: no matching message lies before it."""
        if not self._batches:
            self._next = offset

    def move_to(self, offset: int) -> None:
        """Continue at another offset: discard the messages and drop the queue so that it is taken
        anew."""
        self._batches.clear()
        self.count = self.bytes = 0
        self._next = offset
        self.is_moved = True
        self.drop()

    def settle(self, batch: Batch, start: int, end: int, now: float) -> None:
        """Settle messages of a batch. Hot path: called once for many messages where possible."""
        if self.is_moved:
            return
        batch.settle(start, end)
        self.count -= end - start
        self.settled_at = now
        batches = self._batches
        while batches and batches[0].is_settled:
            self.bytes -= batches.popleft().bytes
        if self.count <= self.wakes_at:
            self.changed.fire()

    @property
    def commit_offset(self) -> int | None:
        """The smallest offset that is not consumed; None before the first pull."""
        if self._batches:
            batch = self._batches[0]
            return batch.messages[batch.settled].offset
        return self._next

    @property
    def span(self) -> int:
        """Distance from the smallest unsettled to the largest buffered offset."""
        if not self._batches:
            return 0
        first = self._batches[0]
        return self._batches[-1].messages[-1].offset - first.messages[first.settled].offset

    def pending(self) -> tuple[int, int, int] | None:
        """Return the smallest and largest buffered offset and the message count; None if empty."""
        if not self._batches:
            return None
        first = self._batches[0]
        smallest = first.messages[first.settled].offset
        return smallest, smallest + self.span, self.count

    # ------------------------------------------------------------------ states

    def excess(self, limits: Limits) -> str | None:
        """Return why no more may be pulled now; None if more may be."""
        if self.count > limits.count:
            return f"{self.count} messages are cached, over {limits.count}"
        if self.bytes > limits.bytes:
            return f"{self.bytes} bytes are cached, over {limits.bytes}"
        if limits.span is not None and self.count and self.span > limits.span:
            return f"the span of offsets is {self.span}, over {limits.span}"
        return None

    def drop(self) -> None:
        """Mark the queue as no longer assigned: running work ends soon, and no new work starts. A
        second call does nothing more."""
        self.note(DROP)
        self.is_dropped = True
        self.changed.fire()

    def release(self) -> None:
        """Mark the dropped queue as released: its offset is persisted."""
        self.phase = QUEUE_PHASES.next(self.phase, RELEASE)

    def note(self, event: str) -> None:
        """Change the phase by an event of the pull loop; nothing but `release` follows a drop."""
        if not self.is_dropped:
            self.phase = QUEUE_PHASES.next(self.phase, event)

    def is_locked(self, now: float) -> bool:
        return self.locked_at is not None and now - self.locked_at <= LOCK_LIVE_S

    def is_idle(self, now: float) -> bool:
        return now - self.pulled_at > PULL_IDLE_S
