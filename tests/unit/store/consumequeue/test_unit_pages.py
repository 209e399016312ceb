"""Tests that cached pages return complete ranges only."""

from __future__ import annotations

import pytest

from gantrymq.store.consumequeue.queue_unit import UNIT_BYTES
from gantrymq.store.consumequeue.unit_pages import PAGES_MAX, UnitPages


def units(first: int, count: int) -> bytes:
    return b"".join(bytes([number]) * UNIT_BYTES for number in range(first, first + count))


@pytest.mark.parametrize(
    ("offset", "count", "is_there"),
    [(10, 5, True), (12, 2, True), (9, 2, False), (14, 2, False), (15, 1, False), (3, 1, False)],
)
def test_page_returns_only_complete_ranges(offset: int, count: int, is_there: bool) -> None:
    pages = UnitPages()
    pages.keep(1, 10, units(10, 5))
    assert pages.find(1, offset, count) == (units(offset, count) if is_there else None)
    assert pages.find(2, offset, count) is None


def test_read_that_continues_a_page_is_detected() -> None:
    pages = UnitPages()
    pages.keep(1, 10, units(10, 5))
    assert [offset for offset in range(20) if pages.ends_at(1, offset)] == [15]
    assert not pages.ends_at(2, 15)


def test_queue_has_one_page_and_the_oldest_page_is_evicted() -> None:
    pages = UnitPages()
    numbers = [pages.join() for _ in range(PAGES_MAX + 1)]
    assert len(set(numbers)) == len(numbers)
    pages.keep(numbers[0], 0, units(0, 1))
    for number in numbers[:-1]:
        pages.keep(number, 1, units(1, 1))
    assert pages.find(numbers[0], 1, 1) == units(1, 1)
    pages.keep(numbers[-1], 1, units(1, 1))
    assert pages.find(numbers[0], 1, 1) is None
    assert pages.find(numbers[1], 1, 1) == units(1, 1)
    pages.drop(numbers[1])
    assert pages.find(numbers[1], 1, 1) is None
