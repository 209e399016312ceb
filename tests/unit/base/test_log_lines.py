"""Tests how many log lines an event gets."""

from __future__ import annotations

from gantrymq.base.log_lines import LINES_MAX, SECONDS, LogBudget


def test_number_of_lines_per_interval_is_bounded() -> None:
    budget = LogBudget()
    noted = [budget.note(5.0) for _ in range(LINES_MAX + 3)]
    assert noted == [0] * LINES_MAX + [None] * 3


def test_the_first_line_of_the_next_interval_says_how_many_got_none() -> None:
    budget = LogBudget()
    for _ in range(LINES_MAX + 3):
        budget.note(5.0)
    assert budget.note(5.0 + SECONDS - 0.01) is None
    assert budget.note(5.0 + SECONDS) == 4
    assert budget.note(5.0 + SECONDS) == 0
