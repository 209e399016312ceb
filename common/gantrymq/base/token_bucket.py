"""Provides a token bucket that is charged afterwards: it may go into debt, which time pays off.

    balance     grows by `rate` a second up to `rate * burst_seconds`, and falls by each charge
    delay       the time until the balance is 0 again; 0 while there is no debt

The user of a bucket admits a request while the delay is short, and charges its actual cost
afterwards. So a request larger than the bucket is admitted too, and the next ones wait longer.
"""

from __future__ import annotations

from typing import Final, final

# Traffic is uneven within a second: a producer that lingers, a batch, a pull of 32 messages.
BURST_SECONDS: Final = 1.0

# `used_per_second` averages over about this time.
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
        """Charge this amount, even beyond the balance."""
        self._refill(now)
        self._balance -= amount
        self._use += amount

    def delay(self, now: float) -> float:
        """Seconds until the debt is paid."""
        self._refill(now)
        return -self._balance / self.rate if self._balance < 0.0 else 0.0

    def used_per_second(self, now: float) -> float:
        """The charge per second, averaged over the last seconds."""
        self._refill(now)
        return self._use / _WINDOW_SECONDS

    def is_idle(self, now: float) -> bool:
        """Whether the bucket is in the same state as a new one."""
        self._refill(now)
        return self._balance >= self.rate * self._burst_seconds and self._use < 1.0

    def change(self, rate: float, now: float) -> None:
        """Change the rate. Debt and savings keep their value in seconds."""
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
