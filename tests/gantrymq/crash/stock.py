"""What a store shows its consumers, compared with what was sent.

Every queue is pulled, message by message from the offset given to its end: offsets without a hole,
each message what its number says, found by its key or by its unique key. Whether it was promised
is not known here: that is for the ledger.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, final

from gantrymq.crash.sendings import QUEUES, Queue, key_of, messages_of, number_of
from gantrymq.store.engine import Store
from gantrymq.store.read.async_reader import run
from gantrymq.store.read.lookups import messages_by_key
from gantrymq.store.read.pull import pull
from gantrymq.store.read.pull_query import PullQuery, PullStatus
from gantrymq.wire.message.record import Record, decode_all

NOTHING_MORE: Final = (
    PullStatus.OFFSET_OVERFLOW_ONE,
    PullStatus.NO_MATCHED_LOGIC_QUEUE,
    PullStatus.NO_MESSAGE_IN_QUEUE,
)
NEAR_MS: Final = 1000  # the index counts in seconds
MEMORY_BYTES: Final = 1 << 30


@final
class Stock:
    """One look at a store that was recovered."""

    def __init__(self, store: Store, starts: Sequence[int]) -> None:
        self._store = store
        self._starts = starts

    def lines(self) -> Iterator[str]:
        """What is held, and what is wrong with it, as the report has it."""
        known = sum(self._store.queues.find(*queue) is not None for queue in QUEUES)
        if known != self._store.queues.count:
            yield f"fault {self._store.queues.count - known} queues that have no message of the run"
        for queue, start in zip(QUEUES, self._starts, strict=True):
            yield from self._queue(queue, start)

    def _queue(self, queue: Queue, offset: int) -> Iterator[str]:
        while True:
            pulled = run(pull(self._store, PullQuery(*queue, offset, 32), MEMORY_BYTES))
            if pulled.status in NOTHING_MORE and pulled.next_offset in {0, offset}:
                if offset and pulled.status is not PullStatus.OFFSET_OVERFLOW_ONE:
                    yield f"fault {queue} at {offset}: {pulled}"
                return
            if pulled.status is not PullStatus.FOUND:
                yield f"fault {queue} at {offset}: {pulled}"
                return
            for record in decode_all(b"".join(pulled.chunks)):
                yield self._message(queue, offset, record)
                offset += 1

    def _message(self, queue: Queue, offset: int, record: Record) -> str:
        number = number_of(record.body)
        if number is None or record.queue_offset != offset:
            return f"fault {queue} at {offset}: no role sent {record!r}"
        put, part = number
        sent = messages_of(put)
        if part >= len(sent):
            return f"fault {queue} at {offset}: put {put} has no part {part}"
        expected = sent[part]
        expected.queue_offset = offset
        expected.physical_offset = record.physical_offset
        expected.store_timestamp_ms = record.store_timestamp_ms
        if record != expected or queue != (record.topic.decode(), record.queue_id):
            return f"fault {queue} at {offset}: put {put} was {expected!r}, is {record!r}"
        position = record.physical_offset
        key = key_of(put, part) if put % 2 else f"U{key_of(put, part)}"
        found = self._positions(queue[0], key, record.store_timestamp_ms)
        if found != [position]:
            return f"fault {key} of {queue[0]} is at {position}, the index finds {found}"
        return f"held {put} {part} {offset} {position} {record.size}"

    def _positions(self, topic: str, key: str, stored_ms: int) -> list[int]:
        times = stored_ms - NEAR_MS, stored_ms + NEAR_MS
        answer = run(messages_by_key(self._store, topic, key, 8, *times))
        return [message.record.physical_offset for message in answer.messages]
