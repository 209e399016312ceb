"""Sets quotas of brokers in tests."""

from __future__ import annotations

from collections.abc import Mapping

from gantrymq.broker.core.quotas.rules import QuotaRules
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.wire.bodies.quotas import Quota, QuotaKind, QuotaLimit

PRODUCE, CONSUME = QuotaLimit.PRODUCE_BYTES, QuotaLimit.CONSUME_BYTES
REQUESTS, STORAGE = QuotaLimit.REQUESTS, QuotaLimit.STORAGE_BYTES


def quota(kind: QuotaKind, name: str, limits: Mapping[QuotaLimit, int]) -> Quota:
    return Quota(kind, name, dict(limits))


def limit(broker: OpenedBroker, *quotas: Quota) -> None:
    """Replace the broker's quotas by these."""
    broker.state.now = broker.now
    broker.state.quotas.replace(QuotaRules(quotas))
    broker.settle()
