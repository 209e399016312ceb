"""Consumes messages concurrently, without keeping their order.

    pulled messages ── slices ──> a worker calls the listener ──> settled
                                        └─ later ──> sent back to the broker ──> settled
                                                         └─ refused: consumed again after 5 s

Workers are flows, as many as `consume_threads`. A worker continues with its slice while the
listener returns success without awaiting, and yields to other flows every few milliseconds. Before
a worker waits, it wakes the next one. So a plain listener costs one step per slice, and an async
listener runs on as many workers as there is work for.

Invariant: a message is settled only after its outcome was carried out. Messages that a listener
holds when their queue is dropped are delivered again, to the next owner of the queue.
"""

from __future__ import annotations

from collections import deque
from typing import Final, final

from gantrymq.client.core.flow.flow_steps import Call, Signal, Wait
from gantrymq.client.core.group.process_queue import ProcessQueue, Slice
from gantrymq.client.core.message.outcomes import LATER, SUCCESS, Later
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.ports import Ports, Running
from gantrymq.client.core.pull.consume_stats import ConsumeStats
from gantrymq.client.core.push.consume_settings import ConsumeSettings
from gantrymq.client.core.push.listeners import Listener, Listeners
from gantrymq.client.core.push.send_back import SendBack
from gantrymq.client.core.safe_text import text_of

# How long plain listeners may block the event loop between two yields, if calls are short.
TIME_SLICE_S: Final = 0.005

AGAIN_S: Final = 5.0

TIMEOUT_LEVEL: Final = 3

# Timeouts are minutes; they are checked this many times within one timeout.
CHECKS_PER_TIMEOUT: Final = 15


@final
class Worker:
    """The state of one worker. Hot path, hence slotted."""

    __slots__ = ("idle", "is_busy", "listener", "since", "slice")

    def __init__(self) -> None:
        self.idle = Signal()
        self.is_busy = False
        self.slice: Slice | None = None
        """What the listener holds; None if nothing, or if the timeout check sent it back."""
        self.since = 0.0
        self.listener: Listener | None = None


@final
class ConcurrentConsumption:
    """The workers of one push consumer. Call `start`, then `deliver`; `stop` at the end."""

    def __init__(
        self,
        ports: Ports,
        listeners: Listeners,
        settings: ConsumeSettings,
        stats: ConsumeStats,
        send_back: SendBack | None,
    ) -> None:
        """`send_back` is None for a broadcast group, which drops messages that fail."""
        self._ports = ports
        self._clock = ports.clock
        self._listeners = listeners
        self._settings = settings
        self._stats = stats
        self._send_back = send_back
        self._work: deque[tuple[Slice, Listener]] = deque()
        self._workers = [Worker() for _ in range(settings.consume_threads)]
        self._idle: deque[Signal] = deque()
        self._running: list[Running] = []
        self._is_stopping = False

    # ------------------------------------------------------------------ lifecycle

    def start(self) -> None:
        start = self._ports.start
        self._running = [
            start(self._run(worker), f"consume {number}")
            for number, worker in enumerate(self._workers)
        ]
        self._running.append(start(self._watch(), "consume timeouts"))

    def deliver(self, found: Slice) -> None:
        """Queue the messages of one pull for the workers."""
        self._work.extend(self._listeners.split(found))
        self._wake()

    def begin(self, process_queue: ProcessQueue) -> None:
        """Do nothing: the slices of the queue arrive through `deliver`."""

    def end(self, process_queue: ProcessQueue) -> bool:
        """Return True: messages that listeners hold do not prevent another member from taking the
        queue."""
        del process_queue
        return True

    def is_worker(self, running: object) -> bool:
        """Tell whether this flow is one of the workers, which call listeners."""
        return any(each is running for each in self._running)

    async def stop(self, until: float) -> None:
        """Start no more slices, and wait until `until` for running listeners."""
        self._is_stopping = True
        self._work.clear()
        while any(worker.is_busy for worker in self._workers) and self._clock.monotonic() < until:
            await Wait(min(until, self._clock.monotonic() + TIME_SLICE_S))
        for running in self._running:
            running.cancel()

    # ------------------------------------------------------------------ workers

    def _wake(self) -> None:
        if self._idle and self._work:
            self._idle.popleft().fire()

    async def _run(self, worker: Worker) -> None:
        clock = self._clock
        yield_at = clock.monotonic() + TIME_SLICE_S
        while True:
            if not self._work or self._is_stopping:
                self._idle.append(worker.idle)
                await Wait(signal=worker.idle)
                yield_at = clock.monotonic() + TIME_SLICE_S
                continue
            worker.is_busy = True
            try:
                await self._next(worker, yield_at)
            except Exception as failure:  # a worker must not end unnoticed
                self._ports.log(
                    f"the listener's outcome could not be applied error={text_of(failure)}", failure
                )
            finally:
                worker.is_busy = False
            if clock.monotonic() >= yield_at:
                await Wait(clock.monotonic())
                yield_at = clock.monotonic() + TIME_SLICE_S

    async def _next(self, worker: Worker, yield_at: float) -> None:
        error: Exception | None = None
        outcome: object = None
        try:
            outcome = await Call(self._go_through, worker, yield_at)
        except Exception as raised:
            error = raised
        held, worker.slice = worker.slice, None
        if held is not None:
            later = self._later(held, outcome, error)
            await self._carry_out(held, worker.listener, later)

    def _go_through(self, worker: Worker, yield_at: float) -> object:
        """Call the listener for the first waiting slice, until it ends, fails, awaits or exceeds
        its time slice; returns the last result of the listener. Hot path: one iteration per call
        of a listener."""
        work, listener = self._work[0]
        batch = work.batch
        owner, messages, end = batch.owner, batch.messages, work.end
        count = self._settings.consume_batch
        clock = self._clock
        begun = start = work.start
        now = worker.since = clock.monotonic()
        worker.slice = None
        outcome: object = None
        try:
            while start < end and not owner.is_dropped:
                next_start = start + count
                next_start = min(next_start, end)
                work.start = next_start
                outcome = listener(messages[start:next_start])
                if outcome is not None and outcome is not SUCCESS:
                    break
                start = next_start
                now = clock.monotonic()
                if now >= yield_at:
                    break
            else:
                work.start = end  # the queue was dropped
        finally:
            if start > begun:
                owner.settle(batch, begun, start, now)
                self._stats.consumed += start - begun
            if start < work.start and not owner.is_dropped:
                worker.slice, worker.listener = Slice(batch, start, work.start), listener
            if work.start == end:
                self._work.popleft()
            if start < work.start:
                self._wake()  # this worker may wait next
        return outcome

    # ------------------------------------------------------------------ outcomes

    def _later(self, held: Slice, outcome: object, error: Exception | None) -> Later | None:
        """Return what to send back; None if all messages are consumed."""
        if error is None and (outcome is None or outcome is SUCCESS):
            return None
        if isinstance(outcome, Later):
            return outcome
        if error is None:
            error = TypeError(
                f"the listener returned {text_of(outcome)}: return None, SUCCESS, LATER or"
                " Later(...)"
            )
        message = held.messages[0]
        self._stats.failed(message.topic, error)
        self._ports.log(f"consumeMessage exception: {text_of(error)}, {message!r}", error)
        return LATER

    async def _carry_out(self, held: Slice, listener: Listener | None, later: Later | None) -> None:
        batch, start = held.batch, held.start
        done = held.end if later is None else min(start + later.done, held.end)
        if done > start:
            self._settle(held, start, done)
        if later is None:
            return
        assert listener is not None, "what is held was given to a listener"
        for place in range(done, held.end):
            message = batch.messages[place]
            if batch.owner.is_dropped:
                self._ports.log(
                    f"message dropped with its queue, it is delivered again message={message!r}"
                )
            elif await self._give_back(message, later.level):
                self._settle(held, place, place + 1)
            else:
                message.record.reconsume_times += 1
                again = self._again(Slice(batch, place, place + 1), listener)
                self._ports.start(again, "consume again")

    def _settle(self, held: Slice, start: int, end: int) -> None:
        held.batch.owner.settle(held.batch, start, end, self._clock.monotonic())
        self._stats.consumed += end - start

    async def _give_back(self, message: ReceivedMessage, level: int) -> bool:
        self._stats.given_back += 1
        if self._send_back is not None:
            try:
                return await self._send_back.give_back(message, level)
            except Exception as failure:  # unexpected: the message is kept
                self._ports.log(
                    f"message not sent back, retrying message={message!r} error={text_of(failure)}",
                    failure,
                )
                return False
        self._ports.log(f"BROADCASTING, the message consume failed, drop it, {message!r}")
        return True

    async def _again(self, held: Slice, listener: Listener) -> None:
        await Wait(self._clock.monotonic() + AGAIN_S)
        if not (held.batch.owner.is_dropped or self._is_stopping):
            self._work.append((held, listener))
            self._wake()

    # ------------------------------------------------------------------ timeouts

    async def _watch(self) -> None:
        timeout_s = self._settings.consume_timeout_s
        while True:
            await Wait(self._clock.monotonic() + timeout_s / CHECKS_PER_TIMEOUT)
            await self.expire(self._clock.monotonic() - timeout_s)

    async def expire(self, before: float) -> None:
        """Send back the messages that listeners have held since before `before`. The listeners
        continue, but their outcomes are ignored."""
        for worker in self._workers:
            held = worker.slice
            if held is None or worker.since > before:
                continue
            worker.slice = None
            for message in held.messages:
                self._ports.log(f"send expire msg back, {message!r}")
            await self._carry_out(held, worker.listener, Later(TIMEOUT_LEVEL))
