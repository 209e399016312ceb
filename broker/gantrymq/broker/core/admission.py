"""Whether the broker takes one more send, or is too busy: by how long sends waited to be appended.

    every send of the last SLOW_SECONDS waited longer than waitTimeMillsInSendQueue, and some wait
    now: the next one is refused as busy, so that its producer asks another broker at once

One slow turn refuses nothing, and where none waits for its turn the next send is always taken: it
shows whether things are better. How long the disk or a slave takes for a send that waits for it is
not counted; syncFlushTimeout and slaveTimeout bound that.
"""

from __future__ import annotations

from typing import final

from gantrymq.broker.core.latency import Latency
from gantrymq.broker.core.settings import BrokerSettings

# Longer than any pause of a healthy broker.
SLOW_SECONDS = 1.0


@final
class Admission:
    """Of one broker. `begin` and `end` come in pairs, and `appended` once a turn."""

    __slots__ = (
        "_begun",
        "_last_begun",
        "_last_seconds",
        "_slow_since",
        "_to_append",
        "latency",
        "waiting",
    )

    def __init__(self) -> None:
        self._begun: dict[float, int] = {}
        """How many that wait were handed in at each moment, oldest first."""
        self.latency: Latency = Latency()
        self._last_begun: float = 0.0
        self._last_seconds: float = 0.0
        self._slow_since: float | None = None
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
        elif self._slow_since is None:
            self._slow_since = now

    def end(self, began: float, now: float, count: int) -> None:
        """The store answered these messages of one `begin`."""
        self.waiting -= 1
        self._begun[began] -= 1
        if not self._begun[began]:
            del self._begun[began]
        self.latency.note(now - began, count, now)

    def refusal(self, now: float, settings: BrokerSettings) -> str | None:
        """The remark of a SYSTEM_BUSY, or None."""
        since = self._slow_since
        if since is None or not self._to_append or now - since < SLOW_SECONDS:
            return None
        return (
            "[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue:"
            f" {self._last_seconds * 1000:.0f}ms, size of queue: {self._to_append} (the slow stage"
            f" is append: each send of the last {now - since:.1f} s waited longer than"
            f" waitTimeMillsInSendQueue={settings.wait_time_mills_in_send_queue} ms; look at the"
            " broker's CPU and disk, send less or add brokers)"
        )
