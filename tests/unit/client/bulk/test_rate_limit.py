"""The rate limit of a sender."""

from __future__ import annotations

import pytest

from gantrymq.client.bulk.rate_limit import BURST_SECONDS, RateLimit


def test_messages_per_second_are_limited() -> None:
    limit, now = RateLimit(100), 50.0
    for _ in range(1000):
        now += limit.take(now)
    assert now - 50.0 == pytest.approx(10.0 - BURST_SECONDS)


def test_unused_capacity_expires() -> None:
    limit = RateLimit(100)
    limit.take(0.0)
    waits = [limit.take(1000.0) for _ in range(100)]
    assert sum(wait == 0 for wait in waits) == pytest.approx(100 * BURST_SECONDS, abs=1)
