"""Logs and counts work that holds the event loop of a process for too long.

Requests, turns and slices of long requests are measured where they run (StallWatch). A timer finds
the rest: if it runs late and no measured work explains it, the stall counts as UNMEASURED. It
counts as NOT_RUNNING if the thread used little CPU time meanwhile, because the machine ran
something else or the thread waited for a disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from time import thread_time
from typing import Final, final

from gantrymq.base.stalls import OTHER, STALL_SECONDS, StallWatch
from gantrymq.metrics.samples import Samples
from gantrymq.metrics.tables import process
from gantrymq.runtime.logs import Log, QuietLog

# Frequent enough to find most stalls, and as rare as an idle broker runs its periodic services.
TICK_SECONDS: Final = 0.1

# Lines for each kind of work in an interval. Permanent stalls write this many.
LINES_MAX: Final = 3
LINES_SECONDS: Final = 10.0

UNMEASURED: Final = "unmeasured work"
NOT_RUNNING: Final = "not running"

# A thread that used less CPU than this share of a stall was waiting for most of it.
BUSY_SHARE: Final = 0.5


@final
class Watchdog:
    """The watchdog of one event loop. Its owner calls `start` within the loop, then `stop`."""

    __slots__ = (
        "_cpu_at",
        "_cpu_clock",
        "_due_at",
        "_named_seconds",
        "_quiet_log",
        "_stalls",
        "_timer",
    )

    def __init__(
        self, stalls: StallWatch, log: Log, cpu_clock: Callable[[], float] = thread_time
    ) -> None:
        """`cpu_clock` returns the CPU seconds of the loop's thread."""
        self._stalls = stalls
        self._cpu_clock = cpu_clock
        self._quiet_log = QuietLog(log, lines_max=LINES_MAX, interval_s=LINES_SECONDS)
        self._timer: asyncio.TimerHandle | None = None
        self._due_at = self._cpu_at = self._named_seconds = 0.0
        stalls.report = self._report

    def start(self) -> None:
        """Measure from now on."""
        self._schedule()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def samples(self) -> Iterator[Samples]:
        """The metrics of stalls."""
        stalls = self._stalls
        yield Samples(
            process.LOOP_STALLS, [((work,), count) for work, count in stalls.counts.items()]
        )
        yield Samples(
            process.LOOP_STALL_SECONDS,
            [((work,), seconds) for work, seconds in stalls.seconds_of.items()],
        )

    def tick(self) -> None:
        """Count how late the timer is, unless measured work explains it."""
        stalls = self._stalls
        now = stalls.now()
        late = now - self._due_at - (stalls.seconds - self._named_seconds)
        if late >= STALL_SECONDS:
            used = self._cpu_clock() - self._cpu_at
            stalls.note(UNMEASURED if used >= late * BUSY_SHARE else NOT_RUNNING, "", late)
        self._quiet_log.settle(now)

    def _schedule(self) -> None:
        stalls = self._stalls
        self._due_at = stalls.now() + TICK_SECONDS
        self._cpu_at = self._cpu_clock()
        self._named_seconds = stalls.seconds
        self._timer = asyncio.get_running_loop().call_later(TICK_SECONDS, self._run)

    def _run(self) -> None:
        self.tick()
        self._schedule()

    def _report(self, work: str, peer: str, seconds: float) -> None:
        fields: dict[str, object] = {"work": work, "ms": round(seconds * 1000)}
        if peer:
            fields["peer"] = peer
        kind = work if work in self._stalls.counts else OTHER  # several requests have no name
        self._quiet_log.warning(kind, self._stalls.now(), "event loop stalled", **fields)
