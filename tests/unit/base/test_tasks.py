"""Tests run_to_end, which runs a sliced task without pauses."""

from __future__ import annotations

import pytest

from gantrymq.base.tasks import SlicedTask, run_to_end


def count_to(number: int) -> SlicedTask[int]:
    for _ in range(number):
        yield
    return number


@pytest.mark.parametrize("pauses", [0, 1, 7])
def test_run_to_end_returns_the_result_of_the_task(pauses: int) -> None:
    assert run_to_end(count_to(pauses)) == pauses


def test_run_to_end_raises_the_error_of_the_task() -> None:
    def failing() -> SlicedTask[None]:
        yield
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        run_to_end(failing())
