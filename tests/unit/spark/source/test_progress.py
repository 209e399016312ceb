"""What brokers are told of a stream's progress, and when."""

from __future__ import annotations

from gantrymq.spark.options.assignment import QueueKey
from gantrymq.spark.source.progress import STORE_SECONDS, Progress, in_turns

A, B = QueueKey("t", "b", 0), QueueKey("t", "b", 1)


def test_progress_is_due_at_once_and_then_at_intervals() -> None:
    progress = Progress()
    progress.advance({A: 5})
    assert progress.due(0.0) == {A: 5}
    progress.asked(0.0)
    progress.stored({A: 5})
    progress.advance({A: 6, B: 1})
    assert progress.due(STORE_SECONDS / 2) == {}
    assert progress.unstored() == {A: 6, B: 1}
    assert progress.due(STORE_SECONDS) == {A: 6, B: 1}


def test_progress_never_goes_back() -> None:
    progress = Progress()
    progress.advance({A: 5})
    progress.advance({A: 3})
    assert progress.due(0.0) == {A: 5}


def test_progress_that_a_broker_did_not_store_is_due_again() -> None:
    progress = Progress()
    progress.advance({A: 5, B: 7})
    progress.asked(0.0)
    progress.stored({B: 7})
    assert progress.due(STORE_SECONDS) == {A: 5}


def test_progress_that_is_stored_is_not_due() -> None:
    progress = Progress()
    progress.advance({A: 5})
    progress.stored({A: 5})
    progress.advance({A: 5})
    assert progress.due(9.0) == {}


def test_one_queue_of_each_topic_and_broker_is_reported_before_the_others() -> None:
    """A Java broker loses offsets of a new group whose queues come at once."""
    elsewhere, other_topic = QueueKey("t", "c", 0), QueueKey("u", "b", 0)
    first, then = in_turns([A, B, elsewhere, other_topic])
    assert set(first) == {A, elsewhere, other_topic}
    assert then == [B]
    assert in_turns([]) == ([], [])
