"""Tests the search for an offset by time against a linear search."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import LocalError
from gantrymq.store.consumequeue.queue_times import Boundary, TimeSearch


def search(times: list[int], minimum: int, timestamp_ms: int, boundary: Boundary) -> int:
    """A whole search; times[n] is the store time of message minimum + n."""
    found = TimeSearch(minimum, minimum + len(times), timestamp_ms, boundary)
    while (probe := found.probe) is not None:
        found.tell(times[probe - minimum])
    return found.result


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(0, 1000), st.integers(-1, 10))
def test_boundaries_equal_those_of_a_linear_search(
    times: list[int], minimum: int, timestamp_ms: int
) -> None:
    times.sort()
    later = [minimum + n for n, time in enumerate(times) if time >= timestamp_ms]
    earlier = [minimum + n for n, time in enumerate(times) if time <= timestamp_ms]
    lower = search(times, minimum, timestamp_ms, Boundary.LOWER)
    upper = search(times, minimum, timestamp_ms, Boundary.UPPER)
    assert lower == min(later, default=minimum + len(times))
    assert upper == max(earlier, default=minimum)


def test_deleted_record_counts_as_older() -> None:
    assert search([-1, -1, 5, 7], 10, 5, Boundary.LOWER) == 12
    assert search([-1, -1, 5, 7], 10, 4, Boundary.UPPER) == 11


def test_few_records_are_read() -> None:
    found = TimeSearch(0, 1 << 20, 777, Boundary.LOWER)
    steps = 0
    while (probe := found.probe) is not None:
        found.tell(probe)
        steps += 1
    assert found.result == 777
    assert steps <= 21


def test_search_is_used_in_the_documented_order() -> None:
    found = TimeSearch(0, 1, 5, Boundary.LOWER)
    with pytest.raises(LocalError, match="not over"):
        _ = found.result
    found.tell(5)
    assert found.result == 0
    with pytest.raises(LocalError, match="is over"):
        found.tell(5)
