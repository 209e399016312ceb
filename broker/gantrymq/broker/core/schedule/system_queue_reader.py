"""Reads records of the broker's internal queues, for the services that process them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gantrymq.base.errors import CorruptionError
from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.state import State
from gantrymq.store.read.pull import pull
from gantrymq.store.read.pull_query import PullQuery
from gantrymq.wire.message.record import Record, decode

# The default limit of a pull.
RECORDS_MAX: Final = 32


def records_from(
    state: State, topic: str, queue_id: int, offset: int, count: int = RECORDS_MAX
) -> Task[tuple[Sequence[Record], int]]:
    """Read at most `count` records from `offset` on; return them and the next offset.

    The next offset is `offset` at the end of the queue. A damaged record is skipped with a log
    line.
    """
    found: list[Record] = []
    query = PullQuery(topic, queue_id, offset, count)
    try:
        pulled = yield from tasks.read(pull(state.store, query, state.memory_bytes))
        _decode(pulled.chunks, found)
    except CorruptionError as error:
        if not found:
            state.effects.warning(
                f"skipped unreadable message topic={topic} offset={offset}: {error}"
            )
        return found, offset + max(len(found), 1)
    return found, max(pulled.next_offset, offset)


def _decode(chunks: Sequence[bytes], found: list[Record]) -> None:
    for chunk in chunks:
        at = 0
        while at < len(chunk):
            record = decode(chunk, at)
            found.append(record)
            at += record.size
