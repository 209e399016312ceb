"""Tests the rate limit of API requests."""

from __future__ import annotations

import pytest

from gantrymq.operator.kube.token_bucket import TokenBucket


def test_a_burst_passes_and_later_requests_wait_in_turn() -> None:
    bucket = TokenBucket(per_second=10, burst=2, now=0)

    waits = [bucket.reserve(0) for _ in range(4)]

    assert waits == pytest.approx([0, 0, 0.1, 0.2])


def test_time_brings_tokens_back_up_to_the_burst() -> None:
    bucket = TokenBucket(per_second=10, burst=2, now=0)
    for _ in range(2):
        bucket.reserve(0)

    assert [bucket.reserve(100) for _ in range(3)] == pytest.approx([0, 0, 0.1])


def test_a_pause_holds_back_every_request() -> None:
    bucket = TokenBucket(per_second=10, burst=5, now=0)

    bucket.pause(0, seconds=3)

    assert bucket.reserve(0) == pytest.approx(3.1)
    assert bucket.reserve(3.1) == pytest.approx(0.1)


def test_a_clock_that_goes_back_brings_nothing() -> None:
    bucket = TokenBucket(per_second=1, burst=1, now=10)
    bucket.reserve(10)

    assert bucket.reserve(5) == pytest.approx(1)
