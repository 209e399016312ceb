"""Opens a store on a disk of the tests and drives it with a clock of its own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from gantrymq.store.append.pending_put import PutAnswer
from gantrymq.store.engine import Store
from gantrymq.store.settings import FlushDiskType, StoreSettings
from gantrymq.store.turn_result import TurnResult
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.testing.stored_messages import records_of
from gantrymq.wire.message.record import Record

HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
SETTINGS = StoreSettings(
    mapped_file_size_commit_log=4096,
    mapped_file_size_consume_queue=200,
    max_hash_slot_num=50,
    max_index_num=20,
)
SYNC = StoreSettings(
    mapped_file_size_commit_log=4096,
    mapped_file_size_consume_queue=200,
    max_hash_slot_num=50,
    max_index_num=20,
    flush_disk_type=FlushDiskType.SYNC_FLUSH,
)


def message(number: int, topic: str = "T", queue_id: int = 0) -> Record:
    return Record(
        topic.encode(),
        b"body %d" % number,
        properties=b"TAGS\x01A\x02KEYS\x01k%d\x02UNIQ_KEY\x01U%d\x02" % (number, number),
        queue_id=queue_id,
        born_host=HOST,
        store_host=HOST,
    )


class OpenedStore:
    """An open store on a disk of the test, with a clock that the test sets."""

    def __init__(
        self,
        disk: FaultyDisk | MemoryDisk,
        settings: StoreSettings = SETTINGS,
        *,
        is_copy: bool = False,
    ) -> None:
        self.disk = disk
        self.background = MemoryBackground(disk)
        names = map(str, count(20261121012644065))
        self.store = Store(
            disk,
            self.background,
            settings,
            new_index_name=names.__next__,
            local_hour=lambda _: 12,
            is_copy=is_copy,
        )
        self.now = 0.0
        for _ in self.store.open(self.now):
            pass

    def turn(self, seconds: float = 0.0) -> TurnResult:
        self.now += seconds
        return self.store.turn(self.now, int(1_700_000_000_000 + self.now * 1000))

    def settle(self) -> TurnResult:
        """Run turns until the disk has no work left."""
        answers: list[PutAnswer] = []
        while self.background.jobs:
            self.background.complete_all()
            answers += self.turn().answers
        return TurnResult(answers, (), ())

    def put(self, *numbers: int, topic: str = "T") -> list[int]:
        taken = [self.store.put(message(number, topic)) for number in numbers]
        assert all(isinstance(each, int) for each in taken)
        return [each for each in taken if isinstance(each, int)]

    def close(self) -> TurnResult:
        return self.store.close(self.now, int(1_700_000_000_000 + self.now * 1000))

    def bodies(self, topic: str = "T") -> Sequence[bytes]:
        """The records of the queue."""
        return [record.body for record in self.records(topic, 0)]

    def records(self, topic: str, queue_id: int) -> Sequence[Record]:
        queue = self.store.queues.find(topic, queue_id)
        return [] if queue is None else list(records_of(self.store, queue))
