"""Stores messages that the broker delivers itself, such as delayed ones, and retries failed ones.

All messages are put in one turn. A message that the store cannot take at the moment is put again
after a pause. A message that the store can never take, because its properties have no room for
those the broker added, is logged and skipped, so that it does not block the others forever. It
stays where it was in the log, and `left_out` is called with it. A maxMessageSize that was lowered
applies to new messages only.

A stored message counts as sent to its topic, as in RocketMQ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, final

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.state import State
from gantrymq.store.append.pending_put import PutAnswer
from gantrymq.store.record.put_status import PutStatus
from gantrymq.wire.java_string import utf8_text
from gantrymq.wire.message.record import Record

# A full disk or a pause of writes lasts longer than this.
RETRY_SECONDS: Final = 1.0

_NEVER_STORED: Final = frozenset({PutStatus.MESSAGE_ILLEGAL, PutStatus.PROPERTIES_SIZE_EXCEEDED})


@final
class Delivery:
    """The delivery of some messages. It calls `left_out` with each message that can never be
    stored, and at the end `then` with their number."""

    __slots__ = ("_again", "_count", "_left", "_left_out", "_refused", "_state", "_then")

    def __init__(
        self,
        state: State,
        records: Sequence[Record],
        then: Callable[[int], None],
        left_out: Callable[[Record], None] | None = None,
        count: Callable[[Record], None] | None = None,
    ) -> None:
        """`count` is called with each message that was stored."""
        self._count = count
        self._state = state
        self._then = then
        self._left_out = left_out
        self._refused = 0
        self._left = 0
        self._again: list[Record] = []
        self._put(records)

    def _put(self, records: Sequence[Record]) -> None:
        # One more than there are records: an answer to the last one put so far must not end the
        # delivery before all are put.
        self._left = len(records) + 1
        for record in records:
            self._start(record)
        self._one_less()

    def _start(self, record: Record) -> None:
        self._state.task_runner.start_in_role(
            tasks.put_accepted(record, waits=False),
            lambda answer: self._answered(record, answer),
            lambda error: self._failed(record, error),
        )

    def _answered(self, record: Record, answer: object) -> None:
        assert isinstance(answer, PutAnswer)
        if answer.status in _NEVER_STORED:
            self._refused += 1
            if self._left_out is not None:
                self._left_out(record)
            self._state.effects.warning(
                f"skipped due message topic={utf8_text(record.topic)} queue={record.queue_id}:"
                f" it cannot be stored: {answer.remark}"
            )
        elif not answer.status.is_stored:
            self._again.append(record)
        else:
            self._state.stats.sent(utf8_text(record.topic), 1, record.size)
            if self._count is not None:
                self._count(record)
        self._one_less()

    def _failed(self, record: Record, error: Exception) -> None:
        self._state.effects.broken("storing a due message raised an exception", error)
        self._again.append(record)
        self._one_less()

    def _one_less(self) -> None:
        self._left -= 1
        if self._left:
            return
        if not self._again:
            self._then(self._refused)
            return
        again, self._again = self._again, []
        self._state.task_runner.start_in_role(
            tasks.wait(self._state.now + RETRY_SECONDS),
            lambda _: self._put(again),
            lambda error: self._state.effects.broken(
                "waiting for a retry raised an exception", error
            ),
        )
