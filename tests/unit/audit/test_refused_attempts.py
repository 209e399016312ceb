"""Tests that refused attempts fill neither the disk nor the log."""

from __future__ import annotations

from gantrymq.audit.refused_attempts import ATTEMPTS_MAX, SECONDS, RefusedAttempts


def test_entries_per_minute_are_bounded_and_the_rest_is_counted() -> None:
    attempts = RefusedAttempts()
    assert [attempts.allows(1.0) for _ in range(ATTEMPTS_MAX + 5)].count(True) == ATTEMPTS_MAX
    assert attempts.allows(1.0 + SECONDS)
    assert attempts.take_left_out() == 5
    assert attempts.take_left_out() == 0
