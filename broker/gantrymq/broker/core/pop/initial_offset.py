"""Chooses the offset at which a group's first pop from a queue begins, as Java 5.3 does.

the first message       if the consumer asks for it, or the queue is of a retry topic
the newest message      otherwise; but 0 when the queue's first message is still in memory
"""

from __future__ import annotations

from typing import Final

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.names import pop_handles
from gantrymq.broker.core.pull.commits import in_memory_bytes
from gantrymq.broker.core.state import State
from gantrymq.broker.core.tables.in_flight import Place
from gantrymq.store.read.readable_store import readable_end, unit_position

FROM_FIRST: Final = 0


def beginning(state: State, place: Place, init_mode: int) -> Task[int]:
    _, topic, queue_id = place
    queue = state.store.queues.find(topic, queue_id)
    if queue is None:
        return 0
    if init_mode == FROM_FIRST or pop_handles.kind_of(topic) != pop_handles.TOPIC:
        return queue.minimum
    if queue.minimum <= 0 < queue.end:
        position = yield from tasks.read(unit_position(queue, 0))
        if position >= 0 and state.store.log.end - position <= in_memory_bytes(state):
            return 0
    end = yield from tasks.read(readable_end(queue, state.store.readable))
    return max(end - 1, 0)
