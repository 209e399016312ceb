"""Opens Gantry's store and answers the questions of store_contents.py."""

from collections.abc import Sequence
from typing import Final

from gantrymq.interop.store.store_contents import Key, Pulled, Queue
from gantrymq.interop.store.store_messages import Told, told
from gantrymq.store.consumequeue.queue_times import Boundary
from gantrymq.store.read.async_reader import run
from gantrymq.store.read.lookups import (
    message_by_id,
    messages_by_key,
    offset_by_time,
    queue_bounds,
)
from gantrymq.store.read.pull import pull
from gantrymq.store.read.pull_query import PullQuery, PullStatus
from gantrymq.store.read.readable_store import ReadableStore
from gantrymq.wire.message.record import decode_all

PULL_AT_ONCE: Final = 32
KEYS_AT_ONCE: Final = 64
FOREVER: Final = (1 << 63) - 1
MEMORY_BYTES: Final = 1 << 30


class OurReader:
    """A `Reader` of Gantry's store; reads from the disk what the store does not have in memory."""

    def __init__(self, store: ReadableStore) -> None:
        self._store = store
        self.tells_oldest_only = False

    def queues(self) -> set[Queue]:
        queues = self._store.queues
        every = [(topic, each) for topic in queues.topics() for each in queues.queue_ids(topic)]
        return {queue for queue in every if self._bounds(queue)[1]}

    def pull(self, queue: Queue) -> Pulled:
        minimum, end = self._bounds(queue)
        messages: list[Told] = []
        offset = minimum
        while offset < end:
            query = PullQuery(*queue, offset, PULL_AT_ONCE)
            pulled = run(pull(self._store, query, MEMORY_BYTES))
            assert pulled.status is PullStatus.FOUND, (queue, offset, pulled)
            messages += [told(record) for record in decode_all(b"".join(pulled.chunks))]
            offset = pulled.next_offset
        return Pulled(minimum, end, messages)

    def view(self, ids: Sequence[tuple[str, str]]) -> Sequence[Told]:
        found = [run(message_by_id(self._store, identity)) for _, identity in ids]
        return [{} if message is None else told(message.record) for message in found]

    def find(
        self, keys: Sequence[Key], begin_ms: int, *, is_unique: bool
    ) -> Sequence[Sequence[int]]:
        del is_unique  # the store looks for both kinds of key at once
        return [self.positions(*key, begin_ms) for key in keys]

    def positions(
        self, topic: str, key: str, begin_ms: int = 0, count_max: int = KEYS_AT_ONCE
    ) -> list[int]:
        """The positions of the messages with this key."""
        reading = messages_by_key(self._store, topic, key, count_max, begin_ms, FOREVER)
        return [message.record.physical_offset for message in run(reading).messages]

    def search(self, times: Sequence[tuple[str, int, int]]) -> Sequence[int]:
        return [run(offset_by_time(self._store, *each, Boundary.LOWER)) for each in times]

    def _bounds(self, queue: Queue) -> tuple[int, int]:
        bounds = run(queue_bounds(self._store, *queue))
        return (0, 0) if bounds is None else (bounds.minimum, bounds.maximum)
