"""Tells any thread whether the event loop of this process still runs.

    running   the loop beats once a second
    working   the owner announced long work, such as the recovery of a store: alive, however long
              it takes, because a restart would only begin it again
    stalled   no beat for `STALL_SECONDS` in normal operation: the process should be restarted

The loop writes, other threads read. Each value is one reference that is replaced as a whole, so no
lock is needed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple, final

from gantrymq.runtime.clock import SYSTEM_CLOCK, Clock

BEAT_SECONDS: Final = 1.0

# Longer than any pause that ends by itself: a busy machine, an fsync of a slow disk, a stopped
# virtual machine.
STALL_SECONDS: Final = 60.0


@final
class _Work(NamedTuple):
    """The long work that the loop does, and when it began."""

    text: str
    since: float


@final
class Pulse:
    """The heartbeat of one event loop. Its owner calls `start` on the loop, then `stop`."""

    __slots__ = ("_beat_at", "_clock", "_timer", "_work")

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._beat_at = clock.monotonic()
        self._timer: asyncio.TimerHandle | None = None
        self._work: _Work | None = None

    def start(self) -> None:
        """Beat now and once a second from then on."""
        self._beat_at = self._clock.monotonic()
        self._timer = asyncio.get_running_loop().call_later(BEAT_SECONDS, self.start)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @contextmanager
    def work(self, text: str) -> Iterator[None]:
        """Count as alive during the block, even if the loop does not run."""
        before = self._work
        self._work = _Work(text, self._clock.monotonic())
        try:
            yield
        finally:
            self._beat_at = self._clock.monotonic()
            self._work = before

    def tell(self, text: str) -> None:
        """Report the progress of the work in the block."""
        assert self._work is not None
        self._work = _Work(text, self._work.since)

    @property
    def working(self) -> str | None:
        """The long work and its duration, as text; None in normal operation."""
        work = self._work
        if work is None:
            return None
        return f"{work.text} for {self._clock.monotonic() - work.since:.0f} s"

    @property
    def silence(self) -> str:
        """For how long the loop has not run, as text."""
        seconds = self._clock.monotonic() - self._beat_at
        return f"the event loop has not turned for {seconds:.0f} s"

    @property
    def is_stalled(self) -> bool:
        """Whether only a restart helps."""
        return self._work is None and self._clock.monotonic() >= self._beat_at + STALL_SECONDS
