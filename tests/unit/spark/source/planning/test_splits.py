"""Tasks: together they read each message once, and none reads too much."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gantrymq.spark.options.assignment import QueueKey
from gantrymq.spark.options.read_options import SplitLimits
from gantrymq.spark.source.planning.bounds import QueueSpan
from gantrymq.spark.source.planning.splits import split

A, B = QueueKey("t", "b", 0), QueueKey("t", "b", 1)


@st.composite
def spans(draw: st.DrawFn) -> list[QueueSpan]:
    sizes = draw(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 60)), max_size=8))
    return [
        QueueSpan(QueueKey("t", "b", number), start, start + size)
        for number, (start, size) in enumerate(sizes)
    ]


@given(spans(), st.none() | st.integers(1, 200), st.none() | st.integers(1, 70))
def test_tasks_are_the_ranges_and_within_the_limits(
    ranges: list[QueueSpan], partitions_min: int | None, records_max: int | None
) -> None:
    tasks = split(ranges, SplitLimits(partitions_min, records_max))
    read = [(task.queue, offset) for task in tasks for offset in range(task.start, task.end)]
    wanted = [(span.queue, offset) for span in ranges for offset in range(span.start, span.end)]
    assert read == wanted
    assert all(0 < task.end - task.start <= (records_max or 60) for task in tasks)
    assert len(tasks) >= min(partitions_min or 0, len(wanted))


def test_a_queue_is_a_task_by_default() -> None:
    ranges = [QueueSpan(B, 5, 9), QueueSpan(A, 0, 1000), QueueSpan(A, 7, 7)]
    assert split(ranges, SplitLimits()) == [QueueSpan(A, 0, 1000), QueueSpan(B, 5, 9)]


def test_long_ranges_get_the_additional_tasks() -> None:
    tasks = split([QueueSpan(A, 0, 900), QueueSpan(B, 0, 100)], SplitLimits(10))
    assert [task.queue for task in tasks] == [A] * 9 + [B]
    assert {task.end - task.start for task in tasks} == {100}


def test_nothing_to_read_is_no_task() -> None:
    assert split([], SplitLimits(4, 10)) == []
