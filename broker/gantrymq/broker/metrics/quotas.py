"""Reads the metrics of quotas: waits, refusals, and how much is used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gantrymq.broker.core.state import State
from gantrymq.metrics.family import Family
from gantrymq.metrics.samples import Row, Samples
from gantrymq.metrics.tables import broker
from gantrymq.wire.bodies.quotas import QuotaKind, QuotaLimit


def samples(state: State, base: str) -> Iterator[Samples]:
    """All metrics of this module."""
    gate = state.quotas.gate
    counted: tuple[tuple[Family, Mapping[tuple[QuotaKind, QuotaLimit], float]], ...] = (
        (broker.QUOTA_DELAYS, gate.delayed),
        (broker.QUOTA_DELAY_SECONDS, gate.delayed_seconds),
        (broker.QUOTA_REFUSALS, gate.refused),
    )
    for family, counts in counted:
        yield Samples(family, _rows(counts), base)
    used: list[Row] = [
        ((use.kind.value, use.name, use.limit.value), use.used / use.allowed)
        for use in state.quotas.use()
    ]
    yield Samples(broker.QUOTA_USE, used, base)


def _rows(counts: Mapping[tuple[QuotaKind, QuotaLimit], float]) -> list[Row]:
    return [((kind.value, limit.value), count) for (kind, limit), count in sorted(counts.items())]
