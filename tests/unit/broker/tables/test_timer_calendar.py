"""The calendar of timers: each message comes out in its second, whatever stretch that is in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gantrymq.broker.core.tables.timer_calendar import AHEAD_SECONDS, PARTED_A_TURN, TimerCalendar

START = 1_700_000_000
entries = st.lists(st.tuples(st.integers(0, 20_000), st.booleans()), max_size=60)


def drained(calendar: TimerCalendar) -> list[tuple[int, int, bool]]:
    """Everything, as time passes."""
    found = []
    while len(calendar):
        if calendar.parts_at() <= calendar.next_second():
            calendar.part()
            continue
        second, words = calendar.take()
        found += [(second, word >> 1, bool(word & 1)) for word in words]
    return found


@given(entries)
def test_all_come_out_by_second_and_offset(said: list[tuple[int, bool]]) -> None:
    calendar = TimerCalendar()
    expected = []
    for offset, (second, is_recall) in enumerate(said):
        calendar.add(START + second, offset, is_recall=is_recall)
        expected.append((START + second, offset, is_recall))
    assert drained(calendar) == sorted(expected)
    assert calendar.parts_at() == float("inf")


@given(entries, st.integers(0, 60), st.integers(0, 20_000))
def test_entries_taken_below_an_offset_are_removed(
    said: list[tuple[int, bool]], below: int, from_second: int
) -> None:
    calendar = TimerCalendar()
    for offset, (second, _) in enumerate(said):
        calendar.add(START + second, offset)
    whole = calendar.whole_from(START + from_second)
    assert START + from_second - 4096 < whole <= START + from_second
    taken = [one for piece in calendar.take_below(below, whole) for one in piece]
    assert all(offset < below for offset in taken)
    assert len(calendar) == len(said) - len(taken)
    left = [offset for _, offset, _ in drained(calendar)]
    assert sorted(left + taken) == list(range(len(said)))
    late = [offset for offset, (second, _) in enumerate(said) if START + second >= whole]
    assert sorted(taken) == [offset for offset in late if offset < below]


def test_one_that_comes_late_for_its_stretch_is_found_all_the_same() -> None:
    calendar = TimerCalendar()
    calendar.add(START + 9000, 1)
    calendar.part()
    calendar.add(START + 5, 2)
    assert calendar.take() == (START + 5, [4])


def test_a_long_stretch_is_parted_some_at_a_time_and_well_ahead() -> None:
    calendar = TimerCalendar()
    for offset in range(PARTED_A_TURN + 1):
        calendar.add(START, offset)
    assert START - 4096 - AHEAD_SECONDS < calendar.parts_at() <= START - AHEAD_SECONDS
    calendar.part()
    assert calendar.parts_at() == float("-inf")
    calendar.part()
    assert calendar.parts_at() == float("inf")
    assert len(calendar.take()[1]) == PARTED_A_TURN + 1
