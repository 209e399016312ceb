"""Whether the broker takes one more send, or is too busy: by how long sends waited to be appended.

    for SLOW_SECONDS the sends of each turn waited longer than waitTimeMillsInSendQueue, and some
    wait now: the next one is refused as busy, so that its producer asks another broker at once

One slow turn refuses nothing, and where none waits for its turn the next send is always taken: it
shows whether things are better. What was before a while without sends does not count. Nor does the
turn's own write, for which who comes behind it waits in its socket, or how long the disk or a slave
takes for a send that waits for it: syncFlushTimeout and slaveTimeout bound that.
"""

from __future__ import annotations

from typing import final

from gantrymq.broker.core.latency import Latency
from gantrymq.broker.core.settings import BrokerSettings

# Longer than any pause of a healthy broker.
SLOW_SECONDS = 1.0

# Between a slow turn and the next send. Not SLOW_SECONDS: a turn may itself take as long, and then
# nothing comes in meanwhile. Who was sending by then waits no more: producers have 3 s.
IDLE_SECONDS = 3.0


@final
class Admission:
    """Of one broker. `begin` and `end` come in pairs, and `appended` once a turn."""

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
        """How many that wait were handed in at each moment, oldest first."""
        self.latency: Latency = Latency(now)
        self._last_begun: float = 0.0
        self._last_seconds: float = 0.0
        self._slow_at: float = 0.0
        """When the last slow turn was."""
        self._slow_since: float | None = None
        """When the first of those was that followed each other up to that one."""
        self._to_append: int = 0
        self.waiting: int = 0
        """Sends that were handed to the store and have no answer."""

    def begin(self, now: float) -> None:
        """A send, or several of one read, is handed to the store, whose next turn appends it."""
        self.waiting += 1
        self._to_append += 1
        self._last_begun = now
        self._begun[now] = self._begun.get(now, 0) + 1

    def head_wait(self, now: float) -> float:
        """Seconds that the oldest has waited."""
        return now - next(iter(self._begun), now)

    def appended(self, now: float, settings: BrokerSettings) -> None:
        """The store had its turn: all that were handed in are in the log, or never will be."""
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
        """Whether nothing was handed in for a while after the last slow turn."""
        return self._last_begun - self._slow_at > IDLE_SECONDS

    def end(self, began: float, now: float, count: int) -> None:
        """The store answered these messages of one `begin`."""
        self.waiting -= 1
        left = self._begun[began] - 1
        if left:
            self._begun[began] = left
        else:
            del self._begun[began]
        self.latency.note(now - began, count, now)

    def refusal(self, settings: BrokerSettings) -> str | None:
        """The remark of a SYSTEM_BUSY, or None."""
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
