"""Tests the delays between attempts to connect, and the bounded memory of addresses."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gantrymq.remoting.backoff import ADDRESSES_MAX, Backoff, BackoffPolicy

POLICY = BackoffPolicy(first_seconds=0.1, factor=2.0, max_seconds=5.0, jitter=0.5)


def test_delays_double_up_to_the_maximum() -> None:
    delays = [POLICY.delay(failures, 0.0) for failures in (1, 2, 3, 7, 1_000_000)]

    assert delays == [0.1, 0.2, 0.4, 5.0, 5.0]


@given(failures=st.integers(1, 10**9), chance=st.floats(0, 1, exclude_max=True))
def test_jitter_only_shortens_and_never_below_half(failures: int, chance: float) -> None:
    full = POLICY.delay(failures, 0.0)

    assert full / 2 <= POLICY.delay(failures, chance) <= full


def test_an_address_waits_longer_with_each_failure_and_not_at_all_after_a_success() -> None:
    backoff = Backoff(POLICY)

    assert backoff.retry_at("a:1") < 0
    assert backoff.failed("a:1", now=10.0, chance=0.0) == 10.1
    assert backoff.failed("a:1", now=20.0, chance=0.0) == 20.2
    assert backoff.retry_at("a:1") == 20.2
    assert backoff.retry_at("b:1") < 0

    backoff.succeeded("a:1")
    assert backoff.retry_at("a:1") < 0
    assert backoff.failures("a:1") == 0


def test_memory_of_addresses_is_bounded_and_forgets_the_oldest_failure() -> None:
    backoff = Backoff(POLICY)
    for number in range(ADDRESSES_MAX):
        backoff.failed(f"host:{number}", now=1.0, chance=0.0)
    backoff.failed("host:0", now=2.0, chance=0.0)

    backoff.failed("one more:1", now=3.0, chance=0.0)

    assert backoff.failures("host:0") == 2
    assert backoff.failures("host:1") == 0
    assert backoff.failures("one more:1") == 1
