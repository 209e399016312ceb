"""Messages that were not sent, and of which nobody would know: they are counted, and logged.

Invariant: each of them is in one line of the log, and a second has no more than one line, but for
the last one: an outage of a busy program is millions of messages.
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
class SoonFuture(Future[R]):
    """Knows whether anybody will see how it ended."""

    is_watched = False

    def result(self, timeout: float | None = None) -> R:
        self.is_watched = True
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self.is_watched = True
        return super().exception(timeout)

    def add_done_callback(self, fn: Callable[[Future[R]], object]) -> None:
        self.is_watched = True
        super().add_done_callback(fn)


@final
class Unseen:
    """Of one producer."""

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._next_at = clock.monotonic()
        self._count = 0
        self._error: Exception | None = None

    def add(self, count: int, error: Exception) -> None:
        """So many messages; what became of the last one stands for all."""
        self._count += count
        self._error = error
        if self._clock.monotonic() >= self._next_at:
            self.tell()

    def tell(self) -> None:
        """What is counted and not told yet."""
        if not self._count:
            return
        log.warning(
            "%d messages of send_soon were not sent, and nobody waits for them: %s",
            self._count,
            self._error,
        )
        self._count, self._error = 0, None
        self._next_at = self._clock.monotonic() + PAUSE_S
