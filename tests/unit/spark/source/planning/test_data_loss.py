"""What is gone that was still to be read."""

from __future__ import annotations

from gantrymq.spark.options.assignment import QueueKey
from gantrymq.spark.source.planning.bounds import Bounds
from gantrymq.spark.source.planning.data_loss import (
    Cause,
    DataLossError,
    Loss,
    find_losses,
    lost_messages,
    without_losses,
)

A, B, C = (QueueKey("t", "b", number) for number in range(3))


def test_a_position_within_the_bounds_loses_nothing() -> None:
    bounds = {A: Bounds(10, 50), B: Bounds(10, 50)}
    assert find_losses({A: 10, B: 50}, bounds) == ()


def test_expired_and_truncated_messages_are_found_with_their_offsets() -> None:
    bounds = {A: Bounds(10, 50), B: Bounds(0, 5)}
    losses = find_losses({B: 9, A: 3}, bounds)
    assert losses == (Loss(A, 3, 10, Cause.EXPIRED), Loss(B, 5, 9, Cause.TRUNCATED))
    assert without_losses({A: 3, B: 9, C: 1}, losses) == {A: 10, B: 5, C: 1}
    assert lost_messages(losses) == 7


def test_an_unreachable_queue_or_a_lagging_slave_is_not_a_loss() -> None:
    assert find_losses({A: 9, B: 9}, {A: Bounds(0, 5, is_of_master=False)}) == ()


def test_the_error_names_queues_offsets_and_the_remedy() -> None:
    text = str(DataLossError([Loss(A, 3, 10, Cause.EXPIRED)]))
    assert "queue t b 0: offsets 3 to 9 were deleted before they were read" in text
    assert "failOnDataLoss=false" in text


def test_the_error_of_many_queues_is_short() -> None:
    many = [Loss(QueueKey("t", "b", number), 0, 1, Cause.EXPIRED) for number in range(1000)]
    assert "and 980 more queues" in str(DataLossError(many))
