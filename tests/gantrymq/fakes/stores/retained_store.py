"""Provides a store's parts whose files expire, with an hour and clocks that a test sets."""

from __future__ import annotations

import itertools

from gantrymq.store.commitlog.commitlog import CommitLog
from gantrymq.store.consumequeue.queue_unit import UNIT_BYTES
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.files.reserve import Reserve
from gantrymq.store.index.index import Index
from gantrymq.store.index.index_file import IndexSizes
from gantrymq.store.index.index_flush import IndexFlush
from gantrymq.store.layout import POSITION_MAX
from gantrymq.store.record.put_status import Refused
from gantrymq.store.retention.disk_watch import DiskWatch
from gantrymq.store.retention.retention import (
    FIRST_LOOK_SECONDS,
    HOUR_MS,
    Retention,
)
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import BLOCK_BYTES, Storage
from gantrymq.testing.unsynced import Chooser
from gantrymq.wire.message.record import Record

LOG_BYTES = 4096
RECORDS_A_FILE = 4
QUEUE_UNITS = 5
HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
HOUR = 4  # of deleteWhen
START_MS = 1_700_000_000_000
ROUND_SECONDS = 10.0
SETTINGS = StoreSettings(mapped_file_size_commit_log=LOG_BYTES)
TOTAL_BYTES = 10_000 * BLOCK_BYTES  # a disk that a small store leaves nearly empty


def message(topic: bytes = b"T") -> Record:
    """A message of a quarter of a file of the log."""
    record = Record(topic, bytes(900), born_host=HOST, store_host=HOST)
    assert record.size * RECORDS_A_FILE < LOG_BYTES < record.size * (RECORDS_A_FILE + 1)
    return record


class Kept:
    """A store's parts on a disk that breaks on request; hour and clocks are set by hand."""

    def __init__(
        self, disk: FaultyDisk | None = None, chosen: StoreSettings | None = None, hour: int = 0
    ) -> None:
        self.settings = chosen or SETTINGS
        self.hour = hour
        self.keep_from = POSITION_MAX
        self.choose: Chooser | None = None  # which jobs of the disk end in a turn: all
        self.now = 0.0
        self.age_ms = 0
        self.disk = disk or FaultyDisk(storage=Storage(TOTAL_BYTES))
        self.disk.memory.now_ms = START_MS
        self.background = MemoryBackground(self.disk)
        self.log = CommitLog(self.disk, self.background, self.settings, tail_bytes=0)
        self.log.load()
        self.queues = Queues(self.disk, QUEUE_UNITS * UNIT_BYTES)
        self.queues.load(self.log.start)
        names = itertools.count(20_261_121_000_000_000)
        self.index = Index(self.disk, IndexSizes(8, 5), lambda: str(next(names)))
        self.index.load(is_clean=True, flushed_ms=0)
        self.reserve = Reserve(self.disk, self.background)
        self.reserve.open()
        self.watch = DiskWatch(self.disk.usage, self.reserve, self.settings)
        self.offset = 0
        self.retention = Retention(
            self.disk,
            self.background,
            self.settings,
            self.log,
            self.queues,
            self.index,
            self.watch,
            local_hour=lambda _: self.hour,
            keep_from=lambda: self.keep_from,
            now=self.now,
        )

    def put(self, count: int) -> Refused | None:
        """Put this many messages, each in its own group, and dispatch them, until one is
        refused."""
        for _ in range(count):
            refused = self.watch.refusal()
            if refused is not None:
                return refused
            record = message()
            arena = self.log.start_group(self.disk.memory.now_ms)
            arena.add(record)
            refused = self.log.write(arena, self.now)
            if refused is not None:
                return refused
            place = record.physical_offset
            self.queues.append("T", 0, self.offset, place, record.size, 0)
            self.index.put(b"T", b"k", b"", place, 1)
            self.offset += 1
        return None

    def sync(self) -> None:
        """Sync everything."""
        for position in range(self.log.start, self.log.end, LOG_BYTES):
            self.log.segments.ask_sync(position)
        self.background.complete_all()
        self.background.take_completions()
        self.queues.sync_all()
        IndexFlush(self.index, self.background, 0.0, LogPosition()).flush(self.log.mark)

    def turn(self) -> None:
        self.watch.turn(self.now)
        self.retention.turn(self.now, START_MS + self.age_ms)

    def complete(self) -> None:
        if self.choose is None:
            self.background.complete_all()
        else:
            self.background.complete_some(self.choose)
        for completion in self.background.take_completions():
            taken = self.log.take(completion, self.now) or self.retention.take(completion)
            assert taken or self.reserve.take(completion)

    def run(self, seconds: float) -> None:
        """Let this much time pass."""
        end = self.now + seconds
        while (deadline := min(self.retention.deadline(), self.watch.deadline())) <= end:
            self.now = max(self.now, deadline)
            self.turn()
            self.complete()
        self.now = end

    def files(self) -> list[int]:
        """The numbers of the log's files."""
        return [int(entry.name) // LOG_BYTES for entry in self.disk.list("commitlog")]


def filled(
    files: int = 6, *, chosen: StoreSettings | None = None, hour: int = 0, hours_old: int = 72
) -> Kept:
    """A store with this many files of the log, all of the same age, shortly before the first
    check."""
    kept = Kept(chosen=chosen, hour=hour)
    assert kept.put(files * RECORDS_A_FILE) is None
    kept.complete()
    kept.sync()
    kept.age_ms = hours_old * HOUR_MS
    kept.now = FIRST_LOOK_SECONDS - 1
    return kept


def fill_disk(kept: Kept, percent: int) -> None:
    """Shrink the disk until this percentage is used."""
    storage = kept.disk.memory.storage
    storage.total_bytes = storage.used_blocks * BLOCK_BYTES * 100 // percent
