"""Keeps the token buckets of each user, topic, group and address that has a limit.

A meter is created when its name is first seen, and dropped when it is idle. Their number is
limited: beyond METERS_MAX busy names, further names of one quota share a meter. So a client that
invents names can neither evict another's limit nor fill the memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, final

from gantrymq.base.token_bucket import TokenBucket
from gantrymq.broker.core.quotas.rules import Allowed, QuotaRules
from gantrymq.wire.bodies.quotas import QuotaKind, QuotaLimit

# About 700 bytes each, 14 MB together.
METERS_MAX: Final = 20_000

# The least time between sweeps, since a sweep takes milliseconds where there are many meters.
SWEEP_SECONDS: Final = 10.0

# The assumed size of a pull's answer before the meter has seen one.
ANSWER_BYTES: Final = 32_768.0


class Charge(NamedTuple):
    """A bucket that a request draws from, with its meter and limit."""

    bucket: TokenBucket
    meter: Meter
    limit: QuotaLimit


@final
class Meter:
    """The buckets of one name; a limit that does not apply has none."""

    __slots__ = ("_sources", "answer_bytes", "consume", "kind", "name", "produce", "requests")

    def __init__(self, kind: QuotaKind, name: str) -> None:
        self.kind: QuotaKind = kind
        self.name: str = name
        self.produce: TokenBucket | None = None
        self.consume: TokenBucket | None = None
        self.requests: TokenBucket | None = None
        self.answer_bytes: float = ANSWER_BYTES
        """The size of the answers to this name's pulls, as a moving average."""
        self._sources: Mapping[QuotaLimit, Allowed] = {}

    def limit(self, limits: Mapping[QuotaLimit, Allowed], now: float) -> None:
        """Apply these limits; existing debt remains."""
        self._sources = limits
        self.produce = _changed(self.produce, limits.get(QuotaLimit.PRODUCE_BYTES), now)
        self.consume = _changed(self.consume, limits.get(QuotaLimit.CONSUME_BYTES), now)
        self.requests = _changed(self.requests, limits.get(QuotaLimit.REQUESTS), now)

    def source(self, limit: QuotaLimit) -> Allowed:
        """The limit's amount, and the name of the quota that sets it."""
        return self._sources[limit]

    def charges(self) -> Iterator[Charge]:
        """All existing buckets."""
        for bucket, limit in (
            (self.produce, QuotaLimit.PRODUCE_BYTES),
            (self.consume, QuotaLimit.CONSUME_BYTES),
            (self.requests, QuotaLimit.REQUESTS),
        ):
            if bucket is not None:
                yield Charge(bucket, self, limit)

    def answered(self, size: int) -> None:
        """Update the average with the size of an answered pull."""
        self.answer_bytes += (size - self.answer_bytes) / 8.0

    def is_idle(self, now: float) -> bool:
        return all(charge.bucket.is_idle(now) for charge in self.charges())


def _changed(bucket: TokenBucket | None, allowed: Allowed | None, now: float) -> TokenBucket | None:
    if allowed is None:
        return None
    if bucket is None:
        return TokenBucket(float(allowed.amount), now)
    bucket.change(float(allowed.amount), now)
    return bucket


@final
class Meters:
    """The table of meters of one broker; owned by `Quotas`."""

    __slots__ = ("_limit", "_meters", "_next_sweep", "_rules")

    def __init__(self, limit: int = METERS_MAX) -> None:
        self._limit = limit
        self._meters: dict[tuple[QuotaKind, str], Meter | None] = {}
        """None where no limit applies to the name."""
        self._next_sweep = 0.0
        self._rules = QuotaRules()

    def change(self, rules: QuotaRules, now: float) -> None:
        """Apply other quotas."""
        self._rules = rules
        for key, meter in list(self._meters.items()):
            limits = rules.limits_of(key[0], meter.name) if meter is not None else {}
            if meter is None or not limits:
                del self._meters[key]
            else:
                meter.limit(limits, now)

    def find(self, kind: QuotaKind, name: str, now: float) -> Meter | None:
        """The meter of this name; None if no limit applies to it."""
        key = (kind, name)
        meter = self._meters.get(key)
        if meter is not None or key in self._meters:
            return meter
        if not self._rules.has(kind):
            return None
        limits = self._rules.limits_of(kind, name)
        if len(self._meters) >= self._limit:
            self._sweep(now)
        if len(self._meters) < self._limit:
            meter = self._meters[key] = _made(kind, name, limits, now)
            return meter
        return self._shared(kind, limits, now)

    def _shared(
        self, kind: QuotaKind, limits: Mapping[QuotaLimit, Allowed], now: float
    ) -> Meter | None:
        """The common meter of all names of these quotas beyond the limit."""
        if not limits:
            return None
        name = min(allowed.source for allowed in limits.values())
        key = (kind, name)
        meter = self._meters.get(key)
        if meter is None:
            meter = self._meters[key] = _made(kind, name, limits, now)
        return meter

    def all(self) -> Iterator[Meter]:
        """The meters with limits."""
        return (meter for meter in self._meters.values() if meter is not None)

    def _sweep(self, now: float) -> None:
        if now < self._next_sweep:
            return
        self._next_sweep = now + SWEEP_SECONDS
        for key, meter in list(self._meters.items()):
            if meter is None or meter.is_idle(now):
                del self._meters[key]


def _made(
    kind: QuotaKind, name: str, limits: Mapping[QuotaLimit, Allowed], now: float
) -> Meter | None:
    if not limits:
        return None
    meter = Meter(kind, name)
    meter.limit(limits, now)
    return meter
