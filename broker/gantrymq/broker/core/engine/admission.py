"""Decides whether the broker takes a send or is too busy, by how long sends waited to be appended.

A send is refused as busy, so that its producer tries another broker at once, if for SLOW_SECONDS
the sends of each turn waited longer than waitTimeMillsInSendQueue, and a send waits now.

One slow turn does not cause refusals. If no send waits to be appended, the next one is always
taken: its wait shows whether the broker has recovered. Slow turns before a pause of IDLE_SECONDS
without sends do not count. Two delays are not part of the wait: that of the turn's own write, since
requests behind it wait in their sockets; and the time until the disk or a slave acknowledges, which
syncFlushTimeout and slaveTimeout bound.
"""

from __future__ import annotations

from typing import final

from gantrymq.broker.core.engine.latency import Latency
from gantrymq.broker.core.settings import BrokerSettings

# Longer than any pause of the event loop of a healthy broker.
SLOW_SECONDS = 1.0

# Pause between a slow turn and the next send that ends a slow period. It is longer than
# SLOW_SECONDS, because a turn may itself take that long, and no send arrives meanwhile. Producers
# time out after 3 s, so none of the slow period waits any more.
IDLE_SECONDS = 3.0


@final
class Admission:
    """The admission of sends of one broker. `begin` and `end` are called in pairs, and `appended`
    once a turn."""

    __slots__ = (
        "_begun",
        "_last_begun",
        "_last_seconds",
        "_slow_at",
        "_slow_since",
        "_to_append",
        "latency",
        "waiting",
    )

    def __init__(self, now: float = 0.0) -> None:
        self._begun: dict[float, int] = {}
        """The number of unanswered `begin` calls by their time, oldest first."""
        self.latency: Latency = Latency(now)
        self._last_begun: float = 0.0
        self._last_seconds: float = 0.0
        self._slow_at: float = 0.0
        """The time of the last slow turn."""
        self._slow_since: float | None = None
        """The time of the first of the consecutive slow turns that end with the last one."""
        self._to_append: int = 0
        self.waiting: int = 0
        """The number of `begin` calls whose sends the store has not answered."""

    def begin(self, now: float) -> None:
        """Count a send, or the sends of one read, handed to the store, whose next turn appends
        them."""
        self.waiting += 1
        self._to_append += 1
        self._last_begun = now
        self._begun[now] = self._begun.get(now, 0) + 1

    def head_wait(self, now: float) -> float:
        """The seconds that the oldest unanswered send has waited; 0 without any."""
        return now - next(iter(self._begun), now)

    def appended(self, now: float, settings: BrokerSettings) -> None:
        """The store ended a turn: all sends handed to it are in the log, or were refused."""
        if not self._to_append:
            return
        self._to_append = 0
        self._last_seconds = now - self._last_begun
        if self._last_seconds * 1000 < settings.wait_time_mills_in_send_queue:
            self._slow_since = None
            return
        if self._slow_since is None or self._was_idle():
            self._slow_since = now
        self._slow_at = now

    def _was_idle(self) -> bool:
        """Whether no send came for IDLE_SECONDS after the last slow turn."""
        return self._last_begun - self._slow_at > IDLE_SECONDS

    def end(self, began: float, now: float, count: int) -> None:
        """The store answered the `count` messages of one `begin`, which was called at `began`."""
        self.waiting -= 1
        left = self._begun[began] - 1
        if left:
            self._begun[began] = left
        else:
            del self._begun[began]
        self.latency.note(now - began, count, now)

    def refusal(self, settings: BrokerSettings) -> str | None:
        """The remark of a SYSTEM_BUSY answer; None if the next send is taken."""
        since = self._slow_since
        if since is None or not self._to_append or self._was_idle():
            return None
        slow_seconds = self._slow_at - since
        if slow_seconds < SLOW_SECONDS:
            return None
        return (
            "[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue:"
            f" {self._last_seconds * 1000:.0f}ms, size of queue: {self._to_append} (the slow stage"
            f" is append: each send of {slow_seconds:.1f} s waited longer than"
            f" waitTimeMillsInSendQueue={settings.wait_time_mills_in_send_queue} ms; look at the"
            " broker's CPU and disk, send less or add brokers)"
        )
