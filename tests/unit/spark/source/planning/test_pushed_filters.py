"""Filters of a query leave out ranges, and never a row that they let pass."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    StringStartsWith,
)

from gantrymq.spark.options.assignment import QueueKey
from gantrymq.spark.source.planning.bounds import QueueSpan
from gantrymq.spark.source.planning.pushed_filters import PushedFilters

SPANS = [QueueSpan(QueueKey(topic, "b", number), 0, 10) for topic in "tu" for number in range(3)]
OFFSET, QUEUE, TOPIC = ("queueOffset",), ("QUEUEID",), ("topic",)


def kept(*filters: Filter) -> list[QueueSpan]:
    return list(PushedFilters.of(filters).kept(SPANS))


def test_filters_on_queues_and_topics_keep_only_matching_ranges() -> None:
    assert [span.queue for span in kept(EqualTo(QUEUE, 1), EqualTo(TOPIC, "t"))] == [
        QueueKey("t", "b", 1)
    ]
    assert len(kept(In(QUEUE, (0, 2)))) == 4
    assert kept(EqualTo(("brokerName",), "c")) == []
    assert kept(EqualTo(QUEUE, 1), In(QUEUE, (0, 2))) == []


def test_filters_on_offsets_cut_the_ranges() -> None:
    assert {span[1:] for span in kept(GreaterThan(OFFSET, 3), LessThanOrEqual(OFFSET, 7))} == {
        (4, 8)
    }
    assert {span[1:] for span in kept(EqualTo(OFFSET, 5))} == {(5, 6)}
    assert {span[1:] for span in kept(In(OFFSET, (2, 8)))} == {(2, 9)}
    assert kept(GreaterThanOrEqual(OFFSET, 10)) == []


def test_other_filters_leave_out_no_range() -> None:
    others = [IsNotNull(TOPIC), StringStartsWith(TOPIC, "t"), EqualTo(("tags",), "paid")]
    assert kept(*others) == SPANS


VALUES = st.integers(-2, 12)
FILTERS = st.one_of(
    st.builds(EqualTo, st.just(QUEUE), st.integers(0, 3)),
    st.builds(EqualTo, st.just(OFFSET), VALUES),
    st.builds(In, st.just(OFFSET), st.lists(VALUES, min_size=1, max_size=3).map(tuple)),
    st.builds(GreaterThan, st.just(OFFSET), VALUES),
    st.builds(GreaterThanOrEqual, st.just(OFFSET), VALUES),
    st.builds(LessThan, st.just(OFFSET), VALUES),
    st.builds(LessThanOrEqual, st.just(OFFSET), VALUES),
)


def lets_pass(each: Filter, queue_id: int, offset: int) -> bool:
    value = queue_id if each.attribute == QUEUE else offset  # type: ignore[attr-defined]
    match each:
        case EqualTo(_, wanted):
            return bool(value == wanted)
        case In(_, wanted):
            return value in wanted
        case GreaterThan(_, wanted):
            return bool(value > wanted)
        case GreaterThanOrEqual(_, wanted):
            return bool(value >= wanted)
        case LessThan(_, wanted):
            return bool(value < wanted)
        case LessThanOrEqual(_, wanted):
            return bool(value <= wanted)
    raise AssertionError(each)


@given(st.lists(FILTERS, max_size=4))
def test_no_row_that_filters_let_pass_is_left_out(filters: list[Filter]) -> None:
    left = {(span.queue, at) for span in kept(*filters) for at in range(span.start, span.end)}
    wanted = {
        (span.queue, at)
        for span in SPANS
        for at in range(span.start, span.end)
        if all(lets_pass(each, span.queue.queue_id, at) for each in filters)
    }
    assert wanted <= left
