"""Records of a queue of the broker's own, read in steps by whoever works through it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from gantrymq.base.errors import CorruptionError
from gantrymq.broker.core import steps
from gantrymq.broker.core.steps import Steps
from gantrymq.store.pull import PullQuery, pull
from gantrymq.wire.message.record import Record, decode

if TYPE_CHECKING:
    from gantrymq.broker.core.state import State

# As many as a pull gives at most by default.
RECORDS_MAX: Final = 32


def records_from(
    state: State, topic: str, queue_id: int, offset: int, count: int = RECORDS_MAX
) -> Steps[tuple[Sequence[Record], int]]:
    """At most so many from this offset on, and where to go on; that is `offset` at the queue's
    end. What is damaged is passed over, with a line in the log."""
    found: list[Record] = []
    query = PullQuery(topic, queue_id, offset, count)
    try:
        pulled = yield from steps.read(pull(state.store, query, state.memory_bytes))
        _decode(pulled.chunks, found)
    except CorruptionError as error:
        if not found:
            state.effects.warning(f"message {offset} of {topic} is passed over: {error}")
        return found, offset + max(len(found), 1)
    return found, max(pulled.next_offset, offset)


def _decode(chunks: Sequence[bytes], found: list[Record]) -> None:
    for chunk in chunks:
        at = 0
        while at < len(chunk):
            record = decode(chunk, at)
            found.append(record)
            at += record.size
