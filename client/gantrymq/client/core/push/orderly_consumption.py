"""Consumes each queue in order: one flow per queue, one call of its listener at a time.

    outcome     auto_commit            without auto_commit
    SUCCESS     commits                waits for COMMIT
    COMMIT      (as SUCCESS)           commits everything since the last COMMIT
    ROLLBACK    (as SUCCESS)           delivers everything since the last COMMIT again, after a
                                       pause
    SUSPEND     delivers the same messages again after a pause, without limit: the queue stalls

A message that was retried `max_reconsume_times` times becomes a dead letter, and the queue
continues; by default there is no such limit.

Invariant: a listener gets a message only while this consumer holds the lock of the queue, and only
after all messages before it are consumed or dead letters. A stalled queue reports itself: it sets
`trouble`, and logs the first failure and then once a minute.
"""

from __future__ import annotations

from collections import deque
from typing import Final, final

from gantrymq.client.core.flow.flow_steps import FOREVER, Call, Signal, Wait
from gantrymq.client.core.group.process_queue import ProcessQueue, Slice
from gantrymq.client.core.message.outcomes import COMMIT, ROLLBACK, SUCCESS, Later, Suspend, Verdict
from gantrymq.client.core.ports import Ports, Running
from gantrymq.client.core.pull.consume_stats import ConsumeStats
from gantrymq.client.core.push.consume_settings import ConsumeSettings
from gantrymq.client.core.push.listeners import Listener, Listeners
from gantrymq.client.core.push.send_back import FIRST_LEVEL, SendBack
from gantrymq.client.core.safe_text import text_of

# A busy queue yields to other flows as often as a concurrent worker does.
TIME_SLICE_S: Final = 0.005

# Java's maximum continuous consumption of one queue, and the pause after it.
CONTINUOUS_S: Final = 60.0
YIELD_S: Final = 0.01

# Interval of checks for a lost queue lock; the queue lock flow renews it.
UNLOCKED_PAUSE_S: Final = 0.1

SUSPEND_MIN_S: Final = 0.01
SUSPEND_MAX_S: Final = 30.0

WARNING_S: Final = 60.0


@final
class Line:
    """The messages of one queue that wait for its listener."""

    __slots__ = ("arrived", "is_calling", "process_queue", "slices", "taken", "warned_at")

    def __init__(self, process_queue: ProcessQueue) -> None:
        self.process_queue = process_queue
        self.slices: deque[tuple[Slice, Listener]] = deque()
        self.taken: list[tuple[Slice, Listener]] = []
        """Consumed messages that are not committed yet, in order."""
        self.arrived = Signal()
        self.is_calling = False
        self.warned_at = -FOREVER

    def take(self, count: int) -> tuple[Slice, Listener]:
        """Remove and return up to `count` messages; there must be some."""
        waiting, listener = self.slices[0]
        part = waiting.take(count)
        if waiting.start == waiting.end:
            self.slices.popleft()
        return part, listener

    def put_back(self, *parts: tuple[Slice, Listener]) -> None:
        self.slices.extendleft(reversed(parts))


@final
class OrderlyConsumption:
    """The queue flows of one orderly push consumer."""

    def __init__(
        self,
        ports: Ports,
        listeners: Listeners,
        settings: ConsumeSettings,
        stats: ConsumeStats,
        send_back: SendBack | None,
    ) -> None:
        """`send_back` is None for a broadcast group, whose queues need no locks."""
        self._ports = ports
        self._clock = ports.clock
        self._listeners = listeners
        self._settings = settings
        self._stats = stats
        self._send_back = send_back
        self._lines: dict[ProcessQueue, Line] = {}
        self._running: dict[ProcessQueue, Running] = {}

    # ------------------------------------------------------------------ lifecycle

    def start(self) -> None:
        """Do nothing: each queue's flow starts with the queue."""

    def begin(self, process_queue: ProcessQueue) -> None:
        line = self._lines[process_queue] = Line(process_queue)
        name = f"consume {process_queue.queue.topic} {process_queue.queue.queue_id}"
        self._running[process_queue] = self._ports.start(self._run(line), name)

    def deliver(self, found: Slice) -> None:
        """Queue the messages of one pull for their listener."""
        line = self._lines.get(found.batch.owner)
        if line is not None:
            line.slices.extend(self._listeners.split(found))
            line.arrived.fire()

    def end(self, process_queue: ProcessQueue) -> bool:
        """Stop consuming the queue; return False if a listener still has a message of it, in which
        case no other member may take the queue yet."""
        line = self._lines.get(process_queue)
        if line is not None and line.is_calling:
            return False
        self._lines.pop(process_queue, None)
        running = self._running.pop(process_queue, None)
        if running is not None:
            running.cancel()
        return True

    def is_worker(self, running: object) -> bool:
        """Tell whether this flow is one of those that call listeners."""
        return any(each is running for each in self._running.values())

    async def stop(self, until: float) -> None:
        """Start no more calls, and wait until `until` for running listeners."""
        for line in self._lines.values():
            line.slices.clear()
        while any(line.is_calling for line in self._lines.values()):
            now = self._clock.monotonic()
            if now >= until:
                break
            await Wait(min(until, now + TIME_SLICE_S))
        for running in self._running.values():
            running.cancel()
        self._lines.clear()

    # ------------------------------------------------------------------ one queue

    async def _run(self, line: Line) -> None:
        clock = self._clock
        process_queue = line.process_queue
        begun = slice_began = clock.monotonic()
        while not process_queue.is_dropped:
            now = clock.monotonic()
            if not line.slices:
                await Wait(signal=line.arrived)
                begun = slice_began = clock.monotonic()
            elif self._send_back is not None and not process_queue.is_locked(now):
                await Wait(now + UNLOCKED_PAUSE_S)
            elif now - begun > CONTINUOUS_S:
                await Wait(now + YIELD_S)
                begun = slice_began = clock.monotonic()
            else:
                if now - slice_began > TIME_SLICE_S:
                    await Wait(now)
                    slice_began = clock.monotonic()
                pause_s = await self._next(line)
                if pause_s is not None:
                    await Wait(clock.monotonic() + pause_s)

    async def _next(self, line: Line) -> float | None:
        """Call the listener once; return how long the queue pauses after it, None for no pause."""
        part, listener = taken = line.take(self._settings.consume_batch)
        line.is_calling = True
        try:
            outcome = await self._called(part, listener)
            if line.process_queue.is_moved:
                return None
            return await self._carry_out(line, taken, outcome)
        except Exception as failure:  # the flow must not end, or the queue would stall unnoticed
            return self._handle_failure(line, taken, failure)
        finally:
            line.is_calling = False

    def _handle_failure(
        self, line: Line, part: tuple[Slice, Listener], failure: Exception
    ) -> float:
        """Handle an unexpected error like a failing listener: the same messages again after a
        pause."""
        trouble = f"the listener's outcome could not be applied: {text_of(failure)}"
        line.process_queue.trouble = trouble
        self._ports.log(f"{line.process_queue.queue}: {trouble}", failure)
        line.put_back(part)
        return self._settings.suspend_s

    async def _called(self, part: Slice, listener: Listener) -> Verdict | Suspend:
        messages = part.messages
        error: Exception | None = None
        outcome: object = None
        try:
            outcome = await Call(listener, messages)
        except Exception as raised:
            error = raised
        if error is None and outcome is None:
            return SUCCESS
        if isinstance(outcome, Verdict | Suspend):
            return outcome
        if isinstance(outcome, Later):
            error = TypeError("An orderly listener cannot return LATER; return SUSPEND instead.")
        elif error is None:
            error = TypeError(
                f"the listener returned {text_of(outcome)}: return None, SUCCESS, SUSPEND, or (with"
                " auto_commit=False) COMMIT or ROLLBACK"
            )
        self._stats.failed(messages[0].topic, error)
        trouble = f"the listener fails at offset {messages[0].offset}: {text_of(error)}"
        if part.batch.owner.trouble != trouble:
            self._ports.log(trouble, error)
        part.batch.owner.trouble = trouble
        return Suspend()

    # ------------------------------------------------------------------ outcomes

    async def _carry_out(
        self, line: Line, part: tuple[Slice, Listener], outcome: Verdict | Suspend
    ) -> float | None:
        if isinstance(outcome, Suspend):
            return await self._suspend(line, part, outcome)
        line.process_queue.trouble = None
        line.warned_at = -FOREVER
        line.taken.append(part)
        if self._settings.auto_commit or outcome is COMMIT:
            self._commit(line)
        elif outcome is ROLLBACK:
            line.put_back(*line.taken)
            line.taken.clear()
            return self._settings.suspend_s
        return None

    def _commit(self, line: Line) -> None:
        now = self._clock.monotonic()
        for part, _ in line.taken:
            line.process_queue.settle(part.batch, part.start, part.end, now)
            self._stats.consumed += part.end - part.start
        line.taken.clear()

    async def _suspend(
        self, line: Line, part: tuple[Slice, Listener], outcome: Suspend
    ) -> float | None:
        """Deliver the messages again after a pause, unless they all became dead letters."""
        held = part[0]
        if await self._given_up(held):
            line.taken.append(part)
            if self._settings.auto_commit:
                self._commit(line)
            return None
        self._warn(line, held)
        seconds = self._settings.suspend_s if outcome.seconds is None else outcome.seconds
        pause_s = min(max(seconds, SUSPEND_MIN_S), SUSPEND_MAX_S)
        line.put_back(part)
        return pause_s

    async def _given_up(self, held: Slice) -> bool:
        """Make dead letters of messages that reached their maximum of retries; count one more retry
        of the others. Return whether all are dead letters now."""
        is_over = True
        for message in held.messages:
            times = message.reconsume_times
            back = self._send_back
            if (
                back is not None
                and times >= back.max_times
                and await back.send(message, times, FIRST_LEVEL + times)
            ):
                self._stats.given_back += 1
                continue
            message.record.reconsume_times = times + 1
            is_over = False
        return is_over

    def _warn(self, line: Line, held: Slice) -> None:
        message = held.messages[0]
        process_queue = line.process_queue
        if process_queue.trouble is None:
            process_queue.trouble = f"the listener suspends the queue at offset {message.offset}"
        now = self._clock.monotonic()
        if now - line.warned_at >= WARNING_S:
            line.warned_at = now
            self._ports.log(
                f"queue stalled queue={process_queue.queue} reason={process_queue.trouble}"
                f" retries={message.reconsume_times} message={message!r}"
            )
