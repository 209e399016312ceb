"""Reads from the store the values that a page of metrics shows: lags of groups, and oldest times.

Invariant: only one pass over the store runs at a time. A caller that asks for new values during a
pass gets the values of that pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, final

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.monitoring.lag import GroupLag, StoreTimes, group_lags
from gantrymq.broker.core.names.system_topics import HALF_TOPIC
from gantrymq.broker.core.state import State
from gantrymq.broker.core.transaction.transactions import HALF_QUEUE
from gantrymq.store.read.async_reader import ReadTask
from gantrymq.store.read.lookups import first_store_time, message_at
from gantrymq.store.read.readable_store import unit_position

NONE_MS: Final = 0


@final
class StoreValues:
    """The values that the last pass read. Times are in ms, NONE_MS if no such message exists."""

    __slots__ = ("_state", "_times", "_waiting", "first_stored_ms", "lags", "oldest_half_ms")

    def __init__(self, state: State) -> None:
        self._state = state
        self._times = StoreTimes()
        self._waiting: list[Callable[[], None]] = []
        self.lags: Sequence[GroupLag] = ()
        self.first_stored_ms = NONE_MS
        """The store time of the oldest message of the log."""
        self.oldest_half_ms = NONE_MS
        """The time at which the oldest open transaction began."""

    def refresh(self, then: Callable[[], None]) -> None:
        """Read all values again, and call `then` when the pass has ended or failed."""
        self._waiting.append(then)
        if len(self._waiting) == 1:
            self._state.task_runner.start(tasks.read(self._pass()), self._end, self._failed)

    def _pass(self) -> ReadTask[None]:
        state = self._state
        self.first_stored_ms = max(NONE_MS, (yield from first_store_time(state.store)))
        self.oldest_half_ms = yield from _oldest_half(state)
        self.lags = yield from group_lags(state, self._times)

    def _failed(self, error: Exception) -> None:
        self._state.effects.failed(f"reading metrics from the store failed: {error}", error)
        self._end(None)

    def _end(self, result: object) -> None:
        waiting, self._waiting = self._waiting, []
        for then in waiting:
            then()


def _oldest_half(state: State) -> ReadTask[int]:
    halves = state.open_halves
    queue = state.store.queues.find(HALF_TOPIC, HALF_QUEUE)
    if queue is None or not halves.is_ready:
        return NONE_MS
    number = halves.next_open(halves.first, queue.end)
    if number >= queue.end:
        return NONE_MS
    position = yield from unit_position(queue, number)
    found = yield from message_at(state.store, position)
    return NONE_MS if found is None else found.record.born_timestamp_ms
