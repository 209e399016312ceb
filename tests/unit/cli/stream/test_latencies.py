"""Tests that the percentiles of the histogram are near the true ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.cli.stream.latencies import Latencies


@given(st.lists(st.floats(2e-6, 3600.0), min_size=1, max_size=200), st.sampled_from([0.5, 0.99]))
def test_percentiles_are_within_two_percent(times: list[float], share: float) -> None:
    latencies = Latencies()
    for each in times:
        latencies.add(each)
    exact = sorted(times)[max(0, -(-int(share * 100) * len(times) // 100) - 1)]
    assert latencies.percentile(share) == pytest.approx(exact, rel=0.021)


def test_extreme_durations_are_counted() -> None:
    latencies = Latencies()
    assert latencies.percentile(0.5) == 0.0
    for each in (0.0, -0.001, 1e9):
        latencies.add(each)
    assert latencies.count == 3
    assert latencies.percentile(0.5) <= 1e-6
    assert latencies.max_s == 1e9
