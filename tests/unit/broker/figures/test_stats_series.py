"""What a series says of the last minute, hour and day."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gantrymq.broker.core.figures.stats_series import Series
from gantrymq.wire.bodies.consuming.stats import StatsItem


def test_a_slot_counts_when_it_is_over() -> None:
    series = Series(1000.0)
    series.add(1001.0, count=3, size=30)
    assert series.counts(1009.9)[0] == StatsItem(0, 0.0, 0.0)
    assert series.counts(1010.0)[0].total == 3
    assert series.sizes(1010.0)[0].total == 30


def test_counts_before_the_window_are_left_out() -> None:
    series = Series(0.0)
    series.add(5.0, 100, 0)
    series.add(65.0, 1, 0)
    minute, hour, _ = series.counts(70.0)
    assert minute.total == 1
    assert hour.total == 0
    assert series.counts(600.0)[1].total == 101


def test_a_quiet_series_falls_to_nothing_by_itself() -> None:
    series = Series(0.0)
    series.add(5.0, 7, 70)
    assert [item.total for item in series.counts(90_000.0)] == [0, 0, 0]


def test_a_day_has_24_hours() -> None:
    series = Series(0.0)
    for hour in range(48):
        series.add(hour * 3600.0, 1, 0)
    assert series.counts(48 * 3600.0)[2].total == 24


def test_the_oldest_slot_counts_while_the_newest_is_counted() -> None:
    series = Series(0.0)
    series.add(5.0, 7, 0)
    series.add(60.0, 1, 0)
    assert series.counts(60.0)[0].total == 7


def test_averages_are_of_time_and_of_calls() -> None:
    series = Series(0.0)
    for second in range(0, 120, 10):
        series.add(float(second), 20, 0, calls=2)
    assert series.counts(120.0)[0] == StatsItem(120, 2.0, 10.0)
    assert series.per_second(120.0) == 2.0


def test_a_young_series_is_divided_by_its_age() -> None:
    series = Series(1000.0)
    series.add(1000.0, 40, 0)
    assert series.per_second(1010.0) == 2.0  # Java lets it begin 10 s before


def test_it_is_idle_from_the_end_of_its_last_slot_on() -> None:
    series = Series(0.0)
    series.add(12.0, 1, 0)
    assert series.idle_seconds(30.0) == 10.0


@given(st.lists(st.integers(0, 300), max_size=30), st.integers(0, 400))
def test_windows_contain_the_counts_of_their_slots(steps: list[int], wait: int) -> None:
    series = Series(0.0)
    moments = []
    now = 0
    for step in steps:
        now += step
        series.add(float(now), 1, 2)
        moments.append(now)
    now += wait
    expected = [
        sum(1 for at in moments if now // width - slots <= at // width < now // width)
        for slots, width in ((6, 10), (6, 600), (24, 3600))
    ]
    assert [item.total for item in series.counts(float(now))] == expected
    assert [item.total for item in series.sizes(float(now))] == [2 * each for each in expected]
