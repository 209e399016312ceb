"""How far a slave may be told that a group has come."""

from __future__ import annotations

from gantrymq.broker.core.tables.retry_copies import COPIES_MAX, RetryCopies

PLACE, OTHER = ("G", "T", 0), ("G", "T", 1)


def test_the_first_message_whose_copy_is_not_there_is_the_bound() -> None:
    copies = RetryCopies()
    for offset, end in ((7, 100), (5, 200), (6, 300)):
        copies.note(PLACE, offset, end)
    assert copies.bounds([], 0) == {PLACE: 5}
    assert copies.bounds([], 199) == {PLACE: 5}
    assert copies.bounds([], 200) == {PLACE: 6}
    assert copies.bounds([], 300) == {}


def test_earlier_in_flight_message_bounds_the_offset() -> None:
    copies = RetryCopies()
    copies.note(PLACE, 5, 100)
    assert copies.bounds([(PLACE, 3), (OTHER, 9)], 0) == {PLACE: 3, OTHER: 9}
    assert copies.bounds([(PLACE, 8)], 0) == {PLACE: 5}


def test_the_oldest_copies_are_forgotten() -> None:
    copies = RetryCopies()
    for offset in range(COPIES_MAX + 1):
        copies.note(PLACE, offset, 100)
    assert copies.bounds([], 0) == {PLACE: 1}
