"""What was pulled of one queue and is not consumed yet.

    offsets    … 40 | 41 42 43 44 | 45 46 47 48 | 49 …
                      settled ^ 43              ^ next to pull
               batches are what pulls brought; 43 is the commit offset: the smallest unsettled one

A slice of a batch is settled when nobody needs it any more: it was consumed, or given back to the
broker. Slices may be settled in any order; the commit offset passes only what is settled without a
gap, so a consumer that ends here gets everything else again.

Invariant: bookkeeping is by slices and batches, never by messages: a batch is one pull's.
"""

from __future__ import annotations

from collections import deque
from typing import Final, final

from gantrymq.client.core.received import ReceivedMessage
from gantrymq.client.core.steps import Signal
from gantrymq.wire.bodies.shared import MessageQueue

# An orderly queue is consumed only while the broker surely keeps its lock for us: it does so for
# 60 s after a renewal, of which there is one every 20 s.
LOCK_LIVE_S: Final = 30.0

# A queue that was not pulled for so long has lost its flow: it is given up and taken again.
PULL_IDLE_S: Final = 120.0


@final
class Batch:
    """The messages of one pull, by ascending offset. Hot, hence slotted."""

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
        """These are not needed any more."""
        if start != self.settled:
            self._ahead[start] = end
            return
        ahead = self._ahead
        while end in ahead:
            end = ahead.pop(end)
        self.settled = end


@final
class Slice:
    """Messages of a batch that are consumed one after the other; `start` moves on as they are
    taken. Hot, hence slotted."""

    __slots__ = ("batch", "end", "start")

    def __init__(self, batch: Batch, start: int, end: int) -> None:
        self.batch = batch
        self.start = start
        self.end = end

    @property
    def messages(self) -> list[ReceivedMessage]:
        return self.batch.messages[self.start : self.end]

    def take(self, count: int) -> Slice:
        """The first of them, which this one then has no more."""
        start = self.start
        self.start = min(start + count, self.end)
        return Slice(self.batch, start, self.start)


@final
class Limits:
    """How much of one queue may be pulled ahead."""

    __slots__ = ("bytes", "count", "span")

    def __init__(self, count: int, bytes_: int, span: int | None) -> None:
        self.count = count
        self.bytes = bytes_
        self.span = span
        """Between the first unsettled offset and the last one; None: orderly, as it may be."""


@final
class ProcessQueue:
    """Of one queue that is ours, from when it was given to us until it is taken away."""

    __slots__ = (
        "_batches",
        "_next",
        "bytes",
        "changed",
        "count",
        "is_dropped",
        "is_moved",
        "locked_at",
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
        self.pulled_at = now
        """When it was last about to be pulled, by the monotonic clock."""
        self.settled_at = now
        self.locked_at: float | None = None
        """When the broker last confirmed our lock; None without one."""
        self.pull_trouble: str | None = None
        """Why nothing comes, for people."""
        self.trouble: str | None = None
        """Why nothing is consumed."""
        self.changed = Signal()
        """Room was made, or it was dropped: what its pulls wait for."""
        self.wakes_at = -1
        """How few messages are room enough to fire it."""
        self._batches: deque[Batch] = deque()
        self._next: int | None = None

    # ------------------------------------------------------------------ content

    def put(self, messages: list[ReceivedMessage], size: int) -> Slice:
        """What a pull found: at least one message, and how many bytes all of them take."""
        batch = Batch(self, messages, size)
        self._batches.append(batch)
        self.count += len(messages)
        self.bytes += batch.bytes
        self._next = messages[-1].offset + 1
        return Slice(batch, 0, len(messages))

    def pass_to(self, offset: int) -> None:
        """Nothing for us lies before this offset, but for what is here."""
        if not self._batches:
            self._next = offset

    def move_to(self, offset: int) -> None:
        """Its place is another one now; what was pulled is void, and it is to be taken anew."""
        self._batches.clear()
        self.count = self.bytes = 0
        self._next = offset
        self.is_moved = True
        self.drop()

    def settle(self, batch: Batch, start: int, end: int, now: float) -> None:
        """These are not needed any more. Hot: once for many messages where that can be."""
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
        """The smallest offset that is still to be consumed; None before the first pull."""
        if self._batches:
            batch = self._batches[0]
            return batch.messages[batch.settled].offset
        return self._next

    @property
    def span(self) -> int:
        """From the smallest unsettled offset to the largest one here."""
        if not self._batches:
            return 0
        first = self._batches[0]
        return self._batches[-1].messages[-1].offset - first.messages[first.settled].offset

    def pending(self) -> tuple[int, int, int] | None:
        """Smallest and largest offset that are here, and how many messages; None when empty."""
        if not self._batches:
            return None
        first = self._batches[0]
        smallest = first.messages[first.settled].offset
        return smallest, smallest + self.span, self.count

    # ------------------------------------------------------------------ states

    def excess(self, limits: Limits) -> str | None:
        """Why no more may be pulled now."""
        if self.count > limits.count:
            return f"{self.count} messages are cached, over {limits.count}"
        if self.bytes > limits.bytes:
            return f"{self.bytes} bytes are cached, over {limits.bytes}"
        if limits.span is not None and self.count and self.span > limits.span:
            return f"the span of offsets is {self.span}, over {limits.span}"
        return None

    def drop(self) -> None:
        """It is no more ours: what runs ends soon, what does not run never begins."""
        self.is_dropped = True
        self.changed.fire()

    def is_locked(self, now: float) -> bool:
        return self.locked_at is not None and now - self.locked_at <= LOCK_LIVE_S

    def is_idle(self, now: float) -> bool:
        return now - self.pulled_at > PULL_IDLE_S
