"""Decides when to retry an address: exponential back-off with jitter.

The first failure costs little, because a broker that restarts is back in a second. A dead address
is tried every few seconds for as long as callers ask for it. The caller draws the random number, in
[0, 1), so that a thousand clients do not retry at the same moment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

# Addresses come from routes, hence from the network, so the table of failures is bounded. A cluster
# has tens of brokers; a forgotten address is merely tried at once.
ADDRESSES_MAX: Final = 1024


@dataclass(frozen=True, slots=True)
class BackoffPolicy:
    """delay(n) = first x factor^(n-1), at most `max`, less up to `jitter` of itself."""

    first_seconds: float = 0.1
    factor: float = 2.0
    max_seconds: float = 5.0
    jitter: float = 0.5

    def delay(self, failures: int, chance: float) -> float:
        """Seconds to wait after the n-th failure in a row, n from 1."""
        assert failures >= 1
        assert 0.0 <= chance < 1.0
        # The exponent is capped, because an address may be dead for months.
        full = min(self.max_seconds, self.first_seconds * self.factor ** min(failures - 1, 64))
        return full * (1.0 - self.jitter * chance)


@final
class Backoff:
    """Consecutive failures by address, and when each address may be tried again."""

    __slots__ = ("_policy", "_states")

    def __init__(self, policy: BackoffPolicy) -> None:
        self._policy = policy
        self._states: dict[str, tuple[int, float]] = {}

    def failed(self, address: str, now: float, chance: float) -> float:
        """Record a failure; returns when to try again."""
        failures = self._states.pop(address, (0, 0.0))[0] + 1
        retry_at = now + self._policy.delay(failures, chance)
        if len(self._states) >= ADDRESSES_MAX:
            del self._states[next(iter(self._states))]  # the least recent failure
        self._states[address] = (failures, retry_at)
        return retry_at

    def succeeded(self, address: str) -> None:
        self._states.pop(address, None)

    def retry_at(self, address: str) -> float:
        """The earliest time for an attempt; in the past for an address that has not failed."""
        return self._states.get(address, (0, float("-inf")))[1]

    def failures(self, address: str) -> int:
        return self._states.get(address, (0, 0.0))[0]
