"""How long slow brokers are left alone."""

from __future__ import annotations

import pytest

from gantrymq.client.core.instance.faults import Faults


@pytest.mark.parametrize(
    ("took_s", "left_alone_s"),
    [(0.0, 0.0), (0.549, 0.0), (0.55, 2.0), (1.8, 5.0), (3.0, 6.0), (5.0, 10.0), (15.0, 30.0)],
)
def test_slower_brokers_are_avoided_for_longer(took_s: float, left_alone_s: float) -> None:
    faults = Faults()
    faults.took("a", took_s, 100.0)
    assert faults.is_available("a", 100.0 + left_alone_s)
    assert faults.is_available("a", 100.0 + left_alone_s - 0.001) == (left_alone_s == 0.0)


def test_a_failure_counts_ten_seconds_until_a_fast_response() -> None:
    faults = Faults()
    faults.failed("a", 0.0)
    assert not faults.is_available("a", 9.9)
    faults.took("a", 0.01, 5.0)
    assert faults.is_available("a", 5.0)
