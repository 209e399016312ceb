"""Micro-batches over any history of queues: each message is read once, also in a replay."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gantrymq.spark.options.assignment import QueueKey
from gantrymq.spark.source.planning.bounds import Bounds, QueueSpan
from gantrymq.spark.source.planning.data_loss import Cause, Loss
from gantrymq.spark.source.planning.micro_batch import clamp, pending, spans_between
from gantrymq.spark.source.stream_offset import StreamOffset

A, B = QueueKey("t", "b", 0), QueueKey("t", "b", 1)


def test_the_offset_is_unchanged_without_new_messages() -> None:
    start = StreamOffset({A: 5}, {A: 2}, lost=1)
    waiting = pending(start, {A: Bounds(0, 5)})
    assert waiting.waiting == 0
    assert waiting.end(100) is start


def test_the_first_batch_records_its_start() -> None:
    start = StreamOffset({A: 5, B: 0}, is_initial=True)
    end = pending(start, {A: Bounds(0, 9), B: Bounds(0, 0)}).end(100)
    assert end == StreamOffset({A: 9, B: 0}, {A: 5, B: 0})
    moved = StreamOffset({A: 9, B: 7}, is_initial=True)
    assert spans_between(moved, end) == [QueueSpan(A, 5, 9)]


def test_a_batch_without_data_reads_nothing() -> None:
    offset = StreamOffset({A: 9}, {A: 5})
    assert spans_between(offset, offset) == []


def test_later_batches_record_only_their_ends() -> None:
    start = StreamOffset({A: 5}, {A: 0})
    assert pending(start, {A: Bounds(0, 9)}).end(2) == StreamOffset({A: 7})


def test_a_new_queue_begins_at_its_earliest_message() -> None:
    start = StreamOffset({A: 5})
    end = pending(start, {A: Bounds(0, 5), B: Bounds(3, 8)}).end(100)
    assert end == StreamOffset({A: 5, B: 8}, {B: 3})
    assert spans_between(start, end) == [QueueSpan(B, 3, 8)]


def test_an_unreachable_queue_keeps_its_position() -> None:
    start = StreamOffset({A: 5, B: 2})
    end = pending(start, {A: Bounds(0, 9)}).end(100)
    assert end == StreamOffset({A: 9, B: 2})


def test_expired_messages_are_skipped_counted_and_recorded() -> None:
    start = StreamOffset({A: 5}, lost=1)
    waiting = pending(start, {A: Bounds(8, 20)})
    assert waiting.losses == (Loss(A, 5, 8, Cause.EXPIRED),)
    assert waiting.end(4) == StreamOffset({A: 12}, {A: 8}, lost=4)


def test_a_truncated_queue_continues_at_its_new_end() -> None:
    start = StreamOffset({A: 50})
    end = pending(start, {A: Bounds(0, 10)}).end(100)
    assert end == StreamOffset({A: 10}, {A: 10})
    assert spans_between(start, end) == []
    assert pending(end, {A: Bounds(0, 12)}).end(100) == StreamOffset({A: 12})


def test_a_plan_leaves_out_only_messages_that_have_expired() -> None:
    spans = [QueueSpan(A, 0, 10), QueueSpan(B, 0, 10)]
    kept, losses = clamp(spans, {A: Bounds(4, 99), B: Bounds(20, 99)})
    assert kept == [QueueSpan(A, 4, 10), QueueSpan(B, 10, 10)]
    assert losses == (Loss(A, 0, 4, Cause.EXPIRED), Loss(B, 0, 10, Cause.EXPIRED))
    assert clamp(spans, {A: Bounds(0, 3)}) == (spans, ())


GROWTH = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(1, 12)), min_size=1, max_size=25
)


@given(GROWTH, st.randoms(use_true_random=False))
def test_any_history_is_read_once_and_replays_are_equal(
    history: list[tuple[int, int, int]], chance: object
) -> None:
    """Queues appear and grow, batches are of any size, and some are planned again after a crash."""
    crashes = chance.random  # type: ignore[attr-defined]  # hypothesis' random.Random
    bounds: dict[QueueKey, Bounds] = {A: Bounds(0, 0)}
    offset = StreamOffset({A: 0}, is_initial=True)
    read: list[tuple[QueueKey, int]] = []
    for queue_id, grown, rows in history:
        queue = QueueKey("t", "b", queue_id)
        bounds[queue] = Bounds(0, bounds.get(queue, Bounds(0, 0)).end + grown)
        end = pending(offset, bounds).end(rows)
        spans = spans_between(offset, end)
        if crashes() < 0.3:
            anew = StreamOffset.from_json(end.to_json())
            begun = offset if not offset.is_initial else StreamOffset({A: 0}, is_initial=True)
            assert spans_between(begun, anew) == spans
        read += [(span.queue, at) for span in spans for at in range(span.start, span.end)]
        offset = end
    last = pending(offset, bounds).end(10**9)
    for span in spans_between(offset, last):
        read += [(span.queue, at) for at in range(span.start, span.end)]
    stored = [(queue, at) for queue, has in bounds.items() for at in range(has.end)]
    assert sorted(read) == sorted(stored)
