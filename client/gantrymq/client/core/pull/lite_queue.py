"""Pulls one queue of a pull consumer ahead of the application, which takes buffered messages.

    consumed  <=  handed out    <=  buffered    <=  position
    done          held by the       waits to        offset of the
                  application       be taken        next pull

Invariant: `consumed` passes a message only when the application polls again after it received that
message. The buffer is bounded: pulling waits until there is room.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Final, Protocol, final

from gantrymq.client.core.bounds import ABOVE_0, must_fit
from gantrymq.client.core.flow.flow_steps import Signal, Wait
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.ports import Ports, Running
from gantrymq.client.core.pull.pulls import PullResult, PullStatus, QueuePulls
from gantrymq.client.core.safe_text import as_told
from gantrymq.wire.bodies.shared import MessageQueue

# Pause after a failed pull; Java's.
FAILURE_PAUSE_S: Final = 1.0

# Pause after a FLOW_CONTROL response.
FLOW_CONTROL_PAUSE_S: Final = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffering:
    """Bounds of the pull-ahead buffer; Java's defaults."""

    messages_max: int = 10_000
    """Maximum number of buffered messages of all queues together."""
    queue_messages_max: int = 1_000
    queue_bytes_max: int = 100 << 20
    span_max: int = 2_000
    """Maximum distance between the first and last buffered offset of a queue: filters leave
    gaps."""

    def __post_init__(self) -> None:
        must_fit(self, {field.name: ABOVE_0 for field in fields(self)})


class Starts(Protocol):
    """Determines the offset at which a queue begins."""

    async def of(self, queue: MessageQueue) -> int:
        """Return the offset; raises BrokerError, RequestError or RouteError, after which it is
        retried."""


@final
class Buffered:
    """The number of buffered messages of all queues together."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


@final
class _Batch:
    """The messages of one pull, and the offset of the next pull after them."""

    __slots__ = ("bytes", "messages", "next_offset", "taken")

    def __init__(self, result: PullResult) -> None:
        self.messages = result.messages
        self.bytes = result.bytes
        """Counted until the whole batch is taken."""
        self.next_offset = result.next_offset
        self.taken = 0


@final
class LiteQueue:
    """The buffer and the pull flow of one queue, owned by LitePull. `start`, then `stop`."""

    def __init__(
        self,
        pulls: QueuePulls,
        starts: Starts,
        buffering: Buffering,
        buffered: Buffered,
        arrived: Callable[[LiteQueue], None],
    ) -> None:
        """`arrived` is called when there is something to take."""
        self.pulls = pulls
        self.is_paused = False
        self.consumed: int | None = None
        self.handed: int | None = None
        self._starts = starts
        self._buffering = buffering
        self._all = buffered
        self._arrived = arrived
        self._batches: deque[_Batch] = deque()
        self._count = 0
        self._bytes = 0
        self._position: int | None = None
        self._wake = Signal()
        self._running: Running | None = None

    @property
    def queue(self) -> MessageQueue:
        return self.pulls.queue

    @property
    def can_give(self) -> bool:
        return bool(self._batches) and not self.is_paused

    @property
    def is_between_pulls(self) -> bool:
        """Whether the current batch was taken completely and the next one is untouched."""
        return not self._batches or self._batches[0].taken == 0

    @property
    def waiting(self) -> tuple[int, int, int, int]:
        """The first and last buffered offset, the number of buffered messages, and their bytes."""
        if not self._batches:
            return 0, 0, 0, 0
        first = self._batches[0]
        return (
            first.messages[first.taken].offset,
            self._batches[-1].messages[-1].offset,
            self._count,
            self._bytes,
        )

    # ------------------------------------------------------------------ lifecycle

    def start(self, ports: Ports) -> None:
        self._running = ports.start(self._keep_pulling(ports), f"pull {self.queue}")

    def stop(self) -> None:
        """Stop pulling and discard the buffer; discarded messages are pulled again later."""
        if self._running is not None:
            self._running.cancel()
            self._running = None
        self._drop()

    def go_to(self, offset: int, ports: Ports) -> None:
        """Continue at this offset; messages handed out before no longer affect `consumed`."""
        self.stop()
        self._position = self.consumed = offset
        self.handed = None
        self.start(ports)

    def wake(self) -> None:
        """Let the pull flow check again, after room was made or the queue was resumed."""
        self._wake.fire()

    # ------------------------------------------------------------------ what the application takes

    def take(self, limit: int) -> list[ReceivedMessage]:
        """Take up to `limit` messages of one pull. Hot path: iteration takes messages one at a
        time."""
        was_full = self._is_full()
        batch = self._batches[0]
        first = batch.taken
        taken = batch.messages[first : first + limit]
        batch.taken += len(taken)
        if batch.taken < len(batch.messages):
            self.handed = taken[-1].offset + 1
        else:
            self.handed = batch.next_offset
            self._batches.popleft()
            self._bytes -= batch.bytes
        self._count -= len(taken)
        self._all.count -= len(taken)
        if was_full and not self._is_full():
            self._wake.fire()
        return taken

    def settle(self) -> None:
        """Mark the messages handed out as consumed."""
        if self.handed is not None:
            self.consumed, self.handed = self.handed, None

    # ------------------------------------------------------------------ pulling

    async def _keep_pulling(self, ports: Ports) -> None:
        clock = ports.clock
        while True:
            if self.is_paused or self._is_full():
                await Wait(signal=self._wake)
                continue
            try:
                if self._position is None:
                    self._position = self.consumed = await self._starts.of(self.queue)
                version = self.pulls.subscription.subscribed_version
                result = await self.pulls.pull(self._position)
            except Exception as error:  # the flow must not end, or the queue would stall
                cause, shown = as_told(error)
                ports.log(f"pull failed, retrying queue={self.queue} error={cause}", shown)
                await Wait(clock.monotonic() + FAILURE_PAUSE_S)
                continue
            if result.status is PullStatus.FLOW_CONTROL:
                await Wait(clock.monotonic() + FLOW_CONTROL_PAUSE_S)
            elif self.pulls.subscription.subscribed_version == version:
                # A result with another version was pulled with an old filter.
                self._keep(result, ports)

    def _keep(self, result: PullResult, ports: Ports) -> None:
        if result.status is PullStatus.OFFSET_ILLEGAL:
            ports.log(
                f"offset out of range queue={self.queue} offset={self._position}"
                f" next={result.next_offset} min={result.min_offset} max={result.max_offset}"
            )
        self._position = result.next_offset
        messages = result.messages
        if messages:
            self._batches.append(_Batch(result))
            self._count += len(messages)
            self._all.count += len(messages)
            self._bytes += result.bytes
            self._arrived(self)
        elif self._batches:
            self._batches[-1].next_offset = result.next_offset
        elif self.handed is not None:
            self.handed = result.next_offset
        else:
            self.consumed = result.next_offset

    def _is_full(self) -> bool:
        buffering = self._buffering
        return (
            self._all.count >= buffering.messages_max
            or self._count >= buffering.queue_messages_max
            or self._bytes >= buffering.queue_bytes_max
            or (self._count > 0 and self._span() > buffering.span_max)
        )

    def _span(self) -> int:
        first = self._batches[0]
        return self._batches[-1].messages[-1].offset - first.messages[first.taken].offset

    def _drop(self) -> None:
        self._all.count -= self._count
        self._count = self._bytes = 0
        self._batches.clear()
