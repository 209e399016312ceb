"""Provides one timer for the deadlines of all channels of a server or a dialer.

It fires at the earliest announced deadline, and at least every second, because channels do not
announce each change of their idle or slow-frame deadlines. Those deadlines are accurate to a
second, request timeouts to the millisecond. The cost is one visit of each channel a second instead
of a timer for each request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Final, Protocol, final

from gantrymq.base.bounds import NEVER

INTERVAL_SECONDS: Final = 1.0


class Expiring(Protocol):
    """An object with a deadline."""

    def deadline(self) -> float | None: ...

    def expire(self, now: float) -> None: ...


@final
class DeadlineTimer:
    """Owns the timer. `stop` ends it; it cannot be started again."""

    __slots__ = ("_after", "_fires_at", "_is_stopped", "_members", "_monotonic", "_timer")

    def __init__(
        self,
        members: Callable[[], Collection[Expiring]],
        monotonic: Callable[[], float],
        after: Callable[[float], None] | None = None,
    ) -> None:
        """`after` is called at the end of each run, for the owner's own once-a-second work."""
        self._members = members
        self._monotonic = monotonic
        self._after = after
        self._timer: asyncio.TimerHandle | None = None
        self._fires_at = NEVER
        self._is_stopped = False

    def start(self) -> None:
        self.wake_by(self._monotonic() + INTERVAL_SECONDS)

    def wake_by(self, deadline: float) -> None:
        """Fire at `deadline` at the latest."""
        if deadline >= self._fires_at or self._is_stopped:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._fires_at = deadline
        delay = max(0.0, deadline - self._monotonic())
        self._timer = asyncio.get_running_loop().call_later(delay, self._fire)

    def stop(self) -> None:
        self._is_stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def _fire(self) -> None:
        self._timer = None
        self._fires_at = NEVER
        now = self._monotonic()
        earliest = now + INTERVAL_SECONDS
        try:
            earliest = self.expire_due(now)
            if self._after is not None:
                self._after(now)
        finally:
            self.wake_by(earliest)

    def expire_due(self, now: float) -> float:
        """Expire what is due; returns when to look again."""
        earliest = now + INTERVAL_SECONDS
        due: list[Expiring] = []
        for member in self._members():
            deadline = member.deadline()
            if deadline is None:
                continue
            if deadline <= now:
                due.append(member)
            elif deadline < earliest:
                earliest = deadline
        for member in due:
            try:
                member.expire(now)
            except Exception as error:
                # A bug in one channel must not lift the limits of the others.
                asyncio.get_running_loop().call_exception_handler(
                    {"message": "a deadline could not be carried out", "exception": error}
                )
        return earliest
