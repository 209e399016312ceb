"""Tests a timeout that follows the latency of a server."""

from __future__ import annotations

import pytest

from gantrymq.runtime.net.adaptive_timeout import AdaptiveTimeout


def asked(timeout: AdaptiveTimeout, latency: float) -> bool:
    """Simulate a request to a server of this latency; returns whether it was answered in time."""
    is_answered = latency <= timeout.seconds
    if is_answered:
        timeout.answered(latency)
    else:
        timeout.expired()
    return is_answered


def test_a_fast_server_keeps_the_timeout_at_its_minimum() -> None:
    timeout = AdaptiveTimeout(0.7, 3.0)
    for _ in range(100):
        assert asked(timeout, 0.01)
    assert timeout.seconds == 0.7


@pytest.mark.parametrize(("latency", "failures"), [(0.75, 1), (1.0, 1), (1.4, 1), (2.0, 2)])
def test_timeout_reaches_a_slow_server_after_few_failures(latency: float, failures: int) -> None:
    timeout = AdaptiveTimeout(0.7, 3.0)
    outcomes = [asked(timeout, latency) for _ in range(100)]
    assert outcomes.count(False) == failures
    assert not any(outcomes[:failures])


def test_latency_that_doubles_at_once_is_within_the_headroom() -> None:
    timeout = AdaptiveTimeout(0.7, 3.0)
    for _ in range(3):
        asked(timeout, 0.5)
    assert asked(timeout, 1.0)


def test_no_answer_makes_the_timeout_grow_up_to_its_maximum() -> None:
    timeout = AdaptiveTimeout(0.7, 3.0)
    seen = []
    for _ in range(4):
        seen.append(timeout.seconds)
        timeout.expired()
    assert seen == pytest.approx([0.7, 1.4, 2.8, 3.0])


def test_one_slow_answer_is_forgotten_after_some_fast_ones() -> None:
    timeout = AdaptiveTimeout(0.7, 3.0)
    timeout.answered(1.4)
    assert timeout.seconds == pytest.approx(2.8)
    for _ in range(14):
        timeout.answered(0.01)
    assert timeout.seconds == pytest.approx(0.7)
