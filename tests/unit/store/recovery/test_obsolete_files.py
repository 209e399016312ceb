"""Tests that files of queues and index are deleted after their last record."""

from __future__ import annotations

import itertools

import pytest

from gantrymq.base.bounds import NEVER
from gantrymq.base.disk import Completion, DiskError, DiskFailure
from gantrymq.store.consumequeue.queue_unit import UNIT_BYTES
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.files.segments import SyncFailedError
from gantrymq.store.index.index import Index
from gantrymq.store.index.index_file import IndexSizes
from gantrymq.store.index.index_flush import IndexFlush
from gantrymq.store.recovery.obsolete_files import (
    LOOKED_A_TURN,
    RETRY_SECONDS,
    ObsoleteFileCleaner,
)
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_background import MemoryBackground

FILE_UNITS = 5
PAUSE_SECONDS = 0.1


class Kept:
    """Queues of files of five units and an index of files of four keys; a record is 100 bytes."""

    def __init__(self, **counts: int) -> None:
        """Each queue has the same number of units, of consecutive records."""
        self.disk = FaultyDisk()
        self.background = MemoryBackground(self.disk)
        self.queues = Queues(self.disk, FILE_UNITS * UNIT_BYTES)
        self.queues.load(0)
        names = itertools.count(20_261_121_000_000_000)
        self.index = Index(self.disk, IndexSizes(8, 5), lambda: str(next(names)))
        self.index.load(is_clean=True, flushed_ms=0)
        self.cleaner = ObsoleteFileCleaner(self.background, self.queues, self.index, PAUSE_SECONDS)
        self.now = 0.0
        self.write(**counts)

    def write(self, **counts: int) -> None:
        for topic, count in counts.items():
            for offset in range(count):
                self.queues.append(topic, 0, offset, offset * 100, 100, 0)
                self.index.put(topic.encode(), b"k", b"", offset * 100, 1)
        self.queues.sync_all()
        IndexFlush(self.index, self.background, 0.0, LogPosition()).flush(LogPosition(1 << 40))

    def begin(self, log_minimum: int) -> None:
        self.queues.raise_minimum(log_minimum)
        self.cleaner.begin(log_minimum)

    def turn(self) -> list[str]:
        """Run one turn; return the paths whose removal began in it."""
        before = {job.ticket for job in self.background.jobs}
        self.cleaner.turn(self.now)
        return [job.path for job in self.background.jobs if job.ticket not in before]

    def complete(self) -> None:
        self.background.complete_all()
        for completion in self.background.take_completions():
            assert self.cleaner.take(completion)

    def run(self) -> list[str]:
        """Run to the end of the pass; return what was removed, in order."""
        removed: list[str] = []
        for _ in range(1000):
            deadline = self.cleaner.deadline()
            if deadline == NEVER:
                return removed
            self.now = max(self.now, deadline)
            removed += self.turn()
            self.complete()
        raise AssertionError("a pass ends")

    def names(self, topic: str) -> list[int]:
        """The first unit of each file of a queue."""
        entries = self.disk.list(f"consumequeue/{topic}/0")
        return [int(entry.name) // UNIT_BYTES for entry in entries]


def test_files_of_queues_and_index_are_deleted_with_their_last_record() -> None:
    kept = Kept(A=23, B=5)
    kept.begin(1000)
    assert kept.run() == [
        "consumequeue/A/0/00000000000000000000",
        "consumequeue/A/0/00000000000000000100",
        "index/20261121000000000",
        "index/20261121000000001",
    ]
    assert kept.names("A") == [10, 15, 20]
    assert kept.names("B") == [0]  # the last file stays
    queue = kept.queues.find("A", 0)
    assert queue is not None
    assert (queue.start, queue.minimum, queue.end) == (10, 10, 23)


def test_a_file_with_one_record_left_stays() -> None:
    kept = Kept(A=12)
    kept.begin(400)
    assert kept.run() == ["index/20261121000000000"]
    kept.begin(500)
    assert kept.run() == ["consumequeue/A/0/00000000000000000000"]


def test_one_removal_runs_at_a_time_with_pauses() -> None:
    kept = Kept(A=30)
    kept.begin(2000)
    assert len(kept.turn()) == 1
    kept.now = 100.0
    assert kept.cleaner.deadline() == NEVER
    assert not kept.turn()
    kept.complete()
    assert kept.turn() == ["consumequeue/A/0/00000000000000000100"]
    kept.complete()
    assert kept.cleaner.deadline() == 100.0 + PAUSE_SECONDS
    assert not kept.turn()


def test_one_turn_checks_a_bounded_number_of_queues() -> None:
    kept = Kept(**{f"T{number}": 1 for number in range(LOOKED_A_TURN + 1)})
    kept.begin(1 << 30)
    assert not kept.turn()
    assert kept.turn() == ["index/20261121000000000"]


def test_nothing_is_deleted_while_the_start_of_the_log_is_unchanged() -> None:
    kept = Kept(A=12)
    kept.begin(0)
    assert not kept.cleaner.is_under_way
    kept.begin(500)
    kept.run()
    kept.begin(500)
    assert not kept.cleaner.is_under_way
    assert kept.cleaner.deadline() == NEVER


def test_unopened_queues_are_skipped() -> None:
    kept = Kept(A=12)
    queues = Queues(kept.disk, FILE_UNITS * UNIT_BYTES)
    queues.load(0)
    cleaner = ObsoleteFileCleaner(kept.background, queues, kept.index, PAUSE_SECONDS)
    cleaner.begin(400)
    cleaner.turn(0.0)
    assert list(queues.opened()) == []
    assert kept.names("A") == [0, 5, 10]


def test_a_file_that_cannot_be_removed_is_tried_again_before_any_other() -> None:
    kept = Kept(A=23)
    kept.begin(1000)
    path = "consumequeue/A/0/00000000000000000000"
    kept.disk.fail("remove", DiskFailure.BROKEN, path=path)
    assert kept.turn() == [path]
    kept.complete()
    assert str(kept.cleaner.failure) == f"remove {path}: input/output error"
    assert not kept.turn()
    assert kept.cleaner.deadline() == RETRY_SECONDS
    assert kept.run()[:2] == [path, "consumequeue/A/0/00000000000000000100"]
    assert kept.names("A") == [10, 15, 20]
    assert not kept.cleaner.removing


def test_file_that_is_already_missing_counts_as_removed() -> None:
    kept = Kept(A=12)
    kept.disk.remove("consumequeue/A/0/00000000000000000000")
    kept.begin(500)
    kept.run()
    assert kept.cleaner.failure is None
    assert kept.names("A") == [5, 10]


def test_a_folder_whose_sync_failed_ends_the_process() -> None:
    kept = Kept(A=12)
    kept.begin(500)
    kept.turn()
    kept.disk.fail("sync_folder")
    with pytest.raises(SyncFailedError):
        kept.complete()


def test_queue_that_cannot_be_read_does_not_stop_the_others() -> None:
    kept = Kept(A=12, B=12)
    kept.begin(500)
    kept.disk.fail("read", path="consumequeue/B/0/00000000000000000000")
    kept.run()
    assert (kept.names("A"), kept.names("B")) == ([5, 10], [0, 5, 10])
    assert kept.cleaner.failure is not None


def test_recreated_topic_keeps_its_files() -> None:
    kept = Kept(A=23)
    kept.begin(1000)
    kept.disk.fail("remove")
    kept.turn()
    kept.complete()
    kept.queues.delete_topic("A")
    kept.queues.append("A", 0, 0, 5000, 100, 0)
    kept.queues.sync_all()
    assert not [path for path in kept.run() if path.startswith("consumequeue")]
    assert kept.names("A") == [0]


def test_a_queue_that_begins_anew_waits_for_the_removal_of_the_old_ones_file() -> None:
    kept = Kept(A=23)
    kept.begin(1000)
    assert kept.turn() == ["consumequeue/A/0/00000000000000000000"]
    kept.queues.delete_topic("A")
    with pytest.raises(DiskError, match="the file is being removed already"):
        kept.queues.append("A", 0, 0, 5000, 100, 0)
    kept.queues.append("A", 1, 0, 5100, 100, 0)  # this one has a folder of its own
    kept.complete()
    kept.queues.append("A", 0, 0, 5000, 100, 0)
    kept.queues.sync_all()
    assert kept.run() == ["index/20261121000000000", "index/20261121000000001"]
    assert kept.names("A") == [0]


@pytest.mark.parametrize("is_refused", [False, True])
def test_a_snapshot_knows_which_files_are_there_while_one_is_being_removed(
    is_refused: bool,
) -> None:
    kept = Kept(A=23)
    kept.begin(1000)
    kept.turn()
    if is_refused:
        kept.disk.fail("remove")
        kept.complete()
    again = Queues(kept.disk, FILE_UNITS * UNIT_BYTES)
    again.load(1000, snapshot=list(kept.queues.states()))
    queue = again.find("A", 0)
    assert queue is not None
    assert (queue.start, queue.minimum, queue.end) == (0, 10, 23)


def test_unknown_tickets_are_rejected() -> None:
    kept = Kept(A=12)
    kept.begin(500)
    kept.turn()
    assert not kept.cleaner.take(Completion(99))
