"""Provides a token bucket that is charged after the fact: it may be in debt, which time pays off.

    balance     grows by `rate` a second up to `rate * burst_seconds`, and falls by what is charged
    delay       how long it takes until the balance is 0 again; 0 while there is no debt

Whoever uses it lets a request pass while the delay is short, and charges what the request turned
out to cost. So a request that is larger than the bucket passes too, and the next ones wait longer.
"""

from __future__ import annotations

from typing import Final, final

# Traffic is uneven within seconds: a producer that lingers, a batch, a pull of 32 messages.
BURST_SECONDS: Final = 1.0

# `used_per_second` follows the last few seconds.
_WINDOW_SECONDS: Final = 5.0


@final
class TokenBucket:
    """The allowance of one user, topic, group or address; the table of buckets owns it."""

    __slots__ = ("_at", "_balance", "_burst_seconds", "_use", "rate")

    def __init__(self, rate: float, now: float, burst_seconds: float = BURST_SECONDS) -> None:
        self.rate: float = rate
        self._burst_seconds: float = burst_seconds
        self._balance: float = rate * burst_seconds
        self._at: float = now
        self._use: float = 0.0

    def charge(self, amount: float, now: float) -> None:
        """Take this much, whether it is there or not."""
        self._refill(now)
        self._balance -= amount
        self._use += amount

    def delay(self, now: float) -> float:
        """Seconds until there is no debt."""
        self._refill(now)
        return -self._balance / self.rate if self._balance < 0.0 else 0.0

    def used_per_second(self, now: float) -> float:
        """What was charged per second, averaged over the last seconds."""
        self._refill(now)
        return self._use / _WINDOW_SECONDS

    def is_idle(self, now: float) -> bool:
        """Whether it is as good as a new one."""
        self._refill(now)
        return self._balance >= self.rate * self._burst_seconds and self._use < 1.0

    def change(self, rate: float, now: float) -> None:
        """Another rate from now on. Debt remains debt, in seconds; so does what was saved."""
        self._refill(now)
        self._balance *= rate / self.rate
        self.rate = rate

    def _refill(self, now: float) -> None:
        passed = now - self._at
        if passed <= 0.0:
            return
        self._at = now
        self._balance = min(self._balance + passed * self.rate, self.rate * self._burst_seconds)
        # Exponential decay to first order: exact enough, and cheaper than a power.
        self._use *= max(0.0, 1.0 - passed / _WINDOW_SECONDS)
