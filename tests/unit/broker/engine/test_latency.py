"""Tests the distribution of latencies: shares, full minutes and Java's classes."""

from __future__ import annotations

import pytest

from gantrymq.broker.core.engine.latency import JAVA_BOUNDS_MS, MINUTE, Latency


def test_shares_are_at_most_a_quarter_too_high() -> None:
    latency = Latency()
    latency.note(0.001, 990, 0.0)
    latency.note(0.010, 9, 0.0)
    latency.note(0.100, 1, 0.0)
    for share, ms in ((0.5, 1), (0.99, 1), (0.999, 10), (1.0, 100)):
        assert ms <= latency.share(share, 1.0) <= 1.25 * ms
    assert latency.longest_ms == 100


def test_share_is_of_the_last_full_minute() -> None:
    latency = Latency()
    latency.note(0.1, 1, 0.0)
    latency.note(0.001, 1, MINUTE)
    assert latency.share(1.0, MINUTE) > 99
    assert 1 <= latency.share(1.0, 2 * MINUTE) <= 1.25
    assert latency.share(1.0, 9 * MINUTE) == 0


def test_longest_latency_is_that_since_the_start() -> None:
    latency = Latency()
    latency.note(0.1, 1, 0.0)
    latency.note(0.099, 1, 5 * MINUTE)
    assert latency.longest_ms == 100


def test_a_minute_is_distributed_over_javas_classes() -> None:
    latency = Latency()
    inside_ms = [0.5, *(1.1 * bound for bound in JAVA_BOUNDS_MS)]
    for number, ms in enumerate(inside_ms, start=1):
        latency.note(ms / 1000, number, 0.0)
    assert latency.distribution(MINUTE - 1) is None
    assert latency.distribution(MINUTE) == list(range(1, 14))
    assert latency.distribution(3 * MINUTE) == [0] * 13


def test_the_first_minute_begins_with_the_broker() -> None:
    latency = Latency(1000.0)
    assert latency.distribution(1059.0) is None
    assert latency.distribution(1060.0) == [0] * 13


@pytest.mark.parametrize("seconds", [0.0, 1e-9, 1e9])
def test_extreme_latencies_are_counted(seconds: float) -> None:
    latency = Latency()
    assert latency.share(1.0, 0.0) == 0
    latency.note(seconds, 1, 0.0)
    assert latency.share(1.0, 0.0) > 0


def test_latency_counts_in_its_class_after_any_other() -> None:
    def alone(seconds: float) -> float:
        latency = Latency()
        latency.note(seconds, 1, 0.0)
        return latency.share(1.0, 0.0)

    bounds = [0.00001 * 1.25**number for number in range(69)]
    bounds += [bound / 1000 for bound in JAVA_BOUNDS_MS]
    near = [each * factor for each in bounds for factor in (0.999999, 1.0, 1.000001)]
    for before in (0.0, 0.003, 1e9):
        for seconds in (*near, 0.0, 1e9):
            latency = Latency()
            latency.note(before, 1, 0.0)
            latency.note(seconds, 1, 0.0)
            assert latency.share(1.0, 0.0) == max(alone(before), alone(seconds))
            assert latency.share(0.5, 0.0) == min(alone(before), alone(seconds))
