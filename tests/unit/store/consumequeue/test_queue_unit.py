"""Tests the units of consume queues: Java's bytes, order, blanks and damage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import CorruptionError
from gantrymq.store.consumequeue.queue_unit import (
    BLANK,
    UNIT,
    UNIT_BYTES,
    is_blank,
    ordered_count,
    physical_end,
    units,
    valid_count,
)

LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
INTS = st.integers(-(1 << 31), (1 << 31) - 1)
ANY_UNITS = st.lists(
    st.tuples(LONGS | st.integers(0, 3), INTS | st.integers(-1, 1), LONGS), max_size=40
)


@given(ANY_UNITS)
def test_valid_units_are_counted_up_to_the_first_invalid_one(
    fields: list[tuple[int, int, int]],
) -> None:
    data = b"".join([UNIT.pack(*each) for each in fields])
    expected = 0
    while expected < len(fields) and fields[expected][0] >= 0 and fields[expected][1] > 0:
        expected += 1
    assert valid_count(data) == expected
    assert valid_count(data + b"\1" * (UNIT_BYTES - 1)) == expected


@given(st.lists(st.integers(0, 1 << 40), max_size=20))
def test_ordered_units_are_counted_up_to_the_first_misplaced_one(offsets: list[int]) -> None:
    data = b"".join([UNIT.pack(offset, 1, -1) for offset in offsets])
    expected = min(1, len(offsets))
    while 0 < expected < len(offsets) and offsets[expected - 1] < offsets[expected]:
        expected += 1
    assert ordered_count(data) == expected


def test_zeros_are_not_units() -> None:
    assert valid_count(bytes(UNIT_BYTES)) == 0


def test_a_unit_has_the_bytes_of_java() -> None:
    assert UNIT.pack(80799, 385, 2598944) == bytes.fromhex(
        "0000000000013b9f 00000181 000000000027a820"
    )
    assert bytes.fromhex("0000000000000000 7fffffff 0000000000000000") == BLANK


def test_blank_unit_is_valid_and_has_no_log_position() -> None:
    assert valid_count(BLANK) == 1
    assert is_blank(*UNIT.unpack(BLANK)[:2])
    assert physical_end(BLANK) == 0
    assert physical_end(UNIT.pack(100, 91, 7)) == 191


def test_units_are_read_in_order() -> None:
    data = UNIT.pack(0, 91, -1) + UNIT.pack(91, 100, 5)
    assert list(units(data, 0, "queue")) == [(0, 91, -1), (91, 100, 5)]


@pytest.mark.parametrize("bad", [(-1, 91, 0), (0, 0, 0), (5, -91, 0)])
def test_damaged_unit_is_named_and_not_returned(bad: tuple[int, int, int]) -> None:
    data = UNIT.pack(0, 91, 0) + UNIT.pack(*bad)
    with pytest.raises(CorruptionError, match="T/0: unit 8"):
        list(units(data, 7, "T/0"))
