"""Counts and logs failed sends whose futures the program does not look at.

Invariant: each of these messages is counted in exactly one log line. At most one line a second is
logged, apart from the last line, because an outage can fail millions of messages.
"""

from __future__ import annotations

import logging
from concurrent.futures import Future
from typing import TYPE_CHECKING, Final, TypeVar, final

from gantrymq.runtime.clock import SYSTEM_CLOCK, Clock

if TYPE_CHECKING:
    from collections.abc import Callable

R = TypeVar("R")

PAUSE_S: Final = 1.0

log: Final = logging.getLogger("gantrymq.client")


@final
class SendFuture(Future[R]):
    """The future of a `send_async` call; it records whether the program looks at its outcome."""

    is_observed = False

    def result(self, timeout: float | None = None) -> R:
        self.is_observed = True
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self.is_observed = True
        return super().exception(timeout)

    def add_done_callback(self, fn: Callable[[Future[R]], object]) -> None:
        self.is_observed = True
        super().add_done_callback(fn)


@final
class UnobservedFailures:
    """The unobserved failures of one producer; used on the event loop."""

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._next_at = clock.monotonic()
        self._count = 0
        self._error: Exception | None = None

    def add(self, count: int, error: Exception) -> None:
        """Count messages; the log line shows the last error that was added."""
        self._count += count
        self._error = error
        if self._clock.monotonic() >= self._next_at:
            self.log_now()

    def log_now(self) -> None:
        """Log the count since the last line, if there is one."""
        if not self._count:
            return
        log.warning(
            "send_async failed messages=%d error=%s; the program does not look at their futures",
            self._count,
            self._error,
        )
        self._count, self._error = 0, None
        self._next_at = self._clock.monotonic() + PAUSE_S
