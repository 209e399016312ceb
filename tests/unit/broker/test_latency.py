from __future__ import annotations

import pytest

from gantrymq.broker.core.latency import MINUTE, Latency


def test_shares_are_at_most_a_quarter_too_high() -> None:
    latency = Latency()
    latency.note(0.001, 990, 0.0)
    latency.note(0.010, 9, 0.0)
    latency.note(0.100, 1, 0.0)
    for share, ms in ((0.5, 1), (0.99, 1), (0.999, 10), (1.0, 100)):
        assert ms <= latency.share(share, 1.0) <= 1.25 * ms
    assert latency.longest(1.0) == latency.share(1.0, 1.0)


def test_the_last_full_minute_is_told() -> None:
    latency = Latency()
    latency.note(0.1, 1, 0.0)
    latency.note(0.001, 1, MINUTE)
    assert latency.longest(MINUTE) > 99
    assert 1 <= latency.longest(2 * MINUTE) <= 1.25
    assert latency.longest(9 * MINUTE) == 0


@pytest.mark.parametrize("seconds", [0.0, 1e-9, 1e9])
def test_extremes_count(seconds: float) -> None:
    latency = Latency()
    assert latency.longest(0.0) == 0
    latency.note(seconds, 1, 0.0)
    assert latency.longest(0.0) > 0


def test_each_counts_in_its_own_class_whatever_was_counted_before() -> None:
    def alone(seconds: float) -> float:
        latency = Latency()
        latency.note(seconds, 1, 0.0)
        return latency.longest(0.0)

    bounds = [0.00001 * 1.25**number for number in range(69)]
    near = [each * factor for each in bounds for factor in (0.999999, 1.0, 1.000001)]
    for before in (0.0, 0.003, 1e9):
        for seconds in (*near, 0.0, 1e9):
            latency = Latency()
            latency.note(before, 1, 0.0)
            latency.note(seconds, 1, 0.0)
            assert latency.longest(0.0) == max(alone(before), alone(seconds))
            assert latency.share(0.5, 0.0) == min(alone(before), alone(seconds))
