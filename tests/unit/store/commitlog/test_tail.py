"""Tests that the tail has the last bytes of the log, or nothing."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from gantrymq.store.commitlog.tail import PAGE_BYTES, Tail


@given(
    limit=st.integers(0, 40),
    page_bytes=st.integers(1, 50),
    start=st.integers(0, 100),
    runs=st.lists(st.tuples(st.sampled_from([0, 0, 0, 3, 60]), st.binary(min_size=1, max_size=50))),
)
def test_tail_has_the_last_bytes_only(
    limit: int, page_bytes: int, start: int, runs: list[tuple[int, bytes]]
) -> None:
    tail = Tail(limit, page_bytes)
    log = bytes(start)
    first = start + (runs[0][0] if runs else 0)
    for gap, data in runs:
        log += bytes(gap) + data
        tail.add(len(log) - len(data), data)
    held = range(max(first, len(log) - limit), len(log)) if runs else range(0)
    for position in range(len(log) + 2):
        for size in (1, 7, limit):
            last = position + size - 1
            if size and position in held and last in held:
                assert tail.read(position, size) == log[position : position + size]
            elif size:
                assert tail.read(position, size) is None


def test_tail_starts_anew_after_a_truncation() -> None:
    tail = Tail(10)
    tail.add(0, b"0123456789")
    tail.clear()
    assert tail.read(0, 1) is None
    tail.add(5, b"abc")
    assert tail.read(5, 3) == b"abc"
    assert tail.read(4, 2) is None


def test_memory_grows_with_the_content() -> None:
    tracemalloc.start()
    try:
        tail = Tail()
        tail.add(5 << 20, bytes(100_000))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert held < PAGE_BYTES + 100_000
