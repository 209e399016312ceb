"""Stores messages for different queues together: all of them in one write of the log, or none."""

from __future__ import annotations

from collections.abc import Sequence

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.state import State
from gantrymq.store.append.pending_put import PutAnswer
from gantrymq.wire.message.record import Record


def put_together(state: State, records: Sequence[Record], *, waits: bool) -> Task[PutAnswer]:
    """Store these records in this order by one write of the log. The answer says whether all of
    them or none were stored.

    After a crash the log has all, none, or the first ones. Only the first record may have contents
    that the store could refuse.
    """
    *before, last = records
    answers: list[object] = []
    for number, record in enumerate(before):
        state.task_runner.start(tasks.put_accepted(record, waits=waits), answers.append, _failed)
        if answers:
            assert number == 0, "a message was taken and the next one of its group was not"
            refused = answers[0]
            assert isinstance(refused, PutAnswer)
            return refused
    return (yield from tasks.put_accepted(last, waits=waits))


def _failed(error: Exception) -> None:
    raise error
