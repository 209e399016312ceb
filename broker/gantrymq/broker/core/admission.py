"""Whether the broker takes one more send, or is too busy: by how long sends waited to be appended.

    every send of the last SLOW_SECONDS waited longer than waitTimeMillsInSendQueue, and some wait
    now: the next one is refused as busy, so that its producer asks another broker at once

One slow turn refuses nothing, and where nobody waits the next send is always taken: it shows
whether things are better. How long the disk takes for a send that waits for it is not counted;
syncFlushTimeout bounds that.
"""

from __future__ import annotations

from typing import final

from gantrymq.broker.core.settings import BrokerSettings

# Longer than any pause of a healthy broker.
SLOW_SECONDS = 1.0


@final
class Admission:
    """Of one broker. `begin` and `end` come in pairs."""

    __slots__ = ("_last_seconds", "_slow_since", "waiting")

    def __init__(self) -> None:
        self._last_seconds = 0.0
        self._slow_since: float | None = None
        self.waiting = 0
        """Sends that were handed to the store and have no answer."""

    def begin(self) -> None:
        """A send is handed to the store."""
        self.waiting += 1

    def end(self, seconds: float, now: float, settings: BrokerSettings, *, synced: bool) -> None:
        """The store answered it after so long; `synced` if the disk had to confirm it."""
        self.waiting -= 1
        if synced:
            return
        self._last_seconds = seconds
        if seconds * 1000 < settings.wait_time_mills_in_send_queue:
            self._slow_since = None
        elif self._slow_since is None:
            self._slow_since = now

    def refusal(self, now: float, settings: BrokerSettings) -> str | None:
        """The remark of a SYSTEM_BUSY, or None."""
        since = self._slow_since
        if since is None or not self.waiting or now - since < SLOW_SECONDS:
            return None
        return (
            "[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue:"
            f" {self._last_seconds * 1000:.0f}ms, size of queue: {self.waiting} (the slow stage is"
            f" append: each send of the last {now - since:.1f} s waited longer than"
            f" waitTimeMillsInSendQueue={settings.wait_time_mills_in_send_queue} ms; look at the"
            " broker's CPU and disk, send less or add brokers)"
        )
