"""Tests that unobserved failures of `send_async` are counted in the log."""

from __future__ import annotations

import pytest

from gantrymq.client.blocking.unobserved_failures import PAUSE_S, SendFuture, UnobservedFailures
from gantrymq.runtime.clock import VirtualClock


def test_failures_of_one_second_share_one_log_line(caplog: pytest.LogCaptureFixture) -> None:
    clock = VirtualClock()
    failures = UnobservedFailures(clock)
    failures.add(1, ValueError("first"))
    for _ in range(1_000):
        failures.add(2, ValueError("more"))
    clock.advance(PAUSE_S)
    failures.add(3, ValueError("later"))
    failures.add(4, ValueError("last"))
    failures.log_now()
    failures.log_now()
    counts = [record.getMessage().partition(";")[0] for record in caplog.records]
    assert counts == [
        "send_async failed messages=1 error=first",
        "send_async failed messages=2003 error=later",
        "send_async failed messages=4 error=last",
    ]


def test_looking_at_a_future_marks_it_as_observed() -> None:
    for ask in (SendFuture.result, SendFuture.exception):
        future = SendFuture[int]()
        assert not future.is_observed
        future.set_result(1)
        ask(future, 0)
        assert future.is_observed
    called = SendFuture[int]()
    called.add_done_callback(lambda _: None)
    assert called.is_observed
