"""The queue of a row is the same whenever it is sent."""

from __future__ import annotations

import pytest

from gantrymq.client.bulk.layout import Layout
from gantrymq.client.bulk.outgoing import OutgoingMessage
from gantrymq.client.core.errors import MessageError
from gantrymq.spark.sink.queue_choice import RUN_ROWS, QueueChoice
from gantrymq.spark.sink.rows import Row
from gantrymq.wire.bodies.shared import MessageQueue

LAYOUT = Layout("T", [MessageQueue("T", name, id_) for name in ("a", "b") for id_ in range(2)])


def row(
    sharding_key: str | None = None, queue_id: int | None = None, broker: str | None = None
) -> Row:
    return Row(OutgoingMessage(b"x"), None, sharding_key, queue_id, broker)


def test_rows_go_from_queue_to_queue_in_runs() -> None:
    choice = QueueChoice(0)
    queues = [choice.queue(row(), number, LAYOUT) for number in range(4 * RUN_ROWS)]
    assert queues == [queue for queue in LAYOUT.queues for _ in range(RUN_ROWS)]


def test_tasks_begin_at_different_queues() -> None:
    first = {QueueChoice(partition).queue(row(), 0, LAYOUT) for partition in range(4)}
    assert len(first) == 4


def test_a_sharding_key_decides_in_all_tasks() -> None:
    found = {
        QueueChoice(partition).queue(row("key"), number, LAYOUT)
        for partition in range(4)
        for number in range(0, 1000, 100)
    }
    assert len(found) == 1


def test_a_queue_may_be_named() -> None:
    choice = QueueChoice(0)
    assert choice.queue(row("key", 1, "b"), 0, LAYOUT) == MessageQueue("T", "b", 1)
    with pytest.raises(MessageError, match="row 5: topic T has no queue 9 on broker b"):
        choice.queue(row(None, 9, "b"), 5, LAYOUT)
