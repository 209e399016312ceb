"""Tests token buckets that are charged after the fact."""

from __future__ import annotations

import pytest

from gantrymq.base.token_bucket import TokenBucket


def test_burst_of_a_second_costs_no_delay() -> None:
    bucket = TokenBucket(100.0, now=5.0)
    bucket.charge(100, 5.0)
    assert bucket.delay(5.0) == 0.0


def test_debt_is_paid_off_at_the_rate() -> None:
    bucket = TokenBucket(100.0, now=5.0)
    bucket.charge(350, 5.0)
    assert bucket.delay(5.0) == pytest.approx(2.5)
    assert bucket.delay(6.0) == pytest.approx(1.5)
    assert bucket.delay(7.5) == 0.0


def test_saved_allowance_is_bounded_by_the_burst() -> None:
    bucket = TokenBucket(100.0, now=0.0)
    bucket.charge(101, 1000.0)
    assert bucket.delay(1000.0) == pytest.approx(0.01)


def test_long_run_gives_the_rate() -> None:
    bucket, passed, now = TokenBucket(1000.0, now=0.0), 0.0, 0.0
    while now < 20.0:
        bucket.charge(300, now)
        passed += 300
        now += max(0.001, bucket.delay(now))
    assert passed / 20 == pytest.approx(1000, rel=0.1)


def test_clock_that_stands_still_changes_nothing() -> None:
    bucket = TokenBucket(100.0, now=5.0)
    bucket.charge(200, 5.0)
    assert bucket.delay(4.0) == pytest.approx(1.0)


def test_use_follows_the_last_seconds() -> None:
    bucket = TokenBucket(100.0, now=0.0)
    for step in range(400):
        bucket.charge(5, step * 0.1)
    assert bucket.used_per_second(40.0) == pytest.approx(50, rel=0.05)
    assert bucket.used_per_second(60.0) == 0.0


def test_bucket_without_debt_and_use_is_idle() -> None:
    bucket = TokenBucket(100.0, now=0.0)
    assert bucket.is_idle(0.0)
    bucket.charge(50, 0.0)
    assert not bucket.is_idle(0.4)
    assert bucket.is_idle(10.0)


def test_change_of_the_rate_keeps_the_delay() -> None:
    bucket = TokenBucket(100.0, now=0.0)
    bucket.charge(300, 0.0)
    bucket.change(1000.0, 0.0)
    assert bucket.delay(0.0) == pytest.approx(2.0)
