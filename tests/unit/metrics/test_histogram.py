"""Tests the classes in which a Histogram counts values."""

from gantrymq.metrics.histogram import Histogram


def test_a_value_counts_up_to_its_bound() -> None:
    histogram = Histogram((1, 10))
    for value in (0, 1, 1.5, 10, 11):
        histogram.note(value)
    assert histogram.counts == [2, 2, 1]
    assert histogram.total == 23.5
    assert histogram.count == 5


def test_a_value_may_occur_many_times() -> None:
    histogram = Histogram((1,))
    histogram.note(3, 4)
    assert (histogram.counts, histogram.total) == ([0, 4], 12)


def test_what_was_counted_elsewhere_is_added() -> None:
    histogram = Histogram((1,))
    histogram.note(3)
    histogram.add([1, 1], 3.5)
    assert (histogram.counts, histogram.total) == ([1, 2], 6.5)
