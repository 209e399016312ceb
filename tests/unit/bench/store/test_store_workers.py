"""Tests the parsing of a worker's answer, and a process's CPU clock."""

from __future__ import annotations

import os
import time

import pytest

from bench.store.store_workers import Took, cpu_clock, parse_took


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("1000 0.5", Took(1000, 0.5, 0.25, 0)), ("1000 0.5 37", Took(1000, 0.5, 0.25, 37))],
)
def test_answer_has_messages_seconds_and_other_counts(answer: str, expected: Took) -> None:
    took = parse_took(answer, 0.25)
    assert took == expected
    assert (took.rate, took.cpu_us) == (2000.0, 250.0)


def test_the_clock_of_a_process_is_that_of_all_its_threads() -> None:
    before = time.process_time()
    seen = time.clock_gettime(cpu_clock(os.getpid()))
    assert before <= seen <= time.process_time()
