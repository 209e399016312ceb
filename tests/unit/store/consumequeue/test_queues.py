"""Tests all consume queues of a store: creation, deletion, expiry, snapshots and crashes."""

from __future__ import annotations

import pytest

from gantrymq.base.errors import CorruptionError, LocalError
from gantrymq.store.consumequeue import queue_snapshot
from gantrymq.store.consumequeue.consumequeue import Appended
from gantrymq.store.consumequeue.queue_folder import AfterCrash
from gantrymq.store.consumequeue.queue_snapshot import TopicState
from gantrymq.store.consumequeue.queue_unit import UNIT_BYTES
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_disk import MemoryDisk

FILE_BYTES = 5 * UNIT_BYTES


def queues_on(disk: MemoryDisk, *, log_minimum: int = 0) -> Queues:
    queues = Queues(disk, FILE_BYTES)
    queues.load(log_minimum)
    return queues


def fill(queues: Queues, topic: str, count: int, queue_id: int = 0, begin: int = 0) -> None:
    for offset in range(begin, begin + count):
        queues.append(topic, queue_id, offset, offset * 100, 100, 0)


def ends(queues: Queues) -> dict[tuple[str, int], int]:
    return {(queue.topic, queue.queue_id): queue.end for queue in queues.queues()}


def test_queues_are_made_when_first_appended_to() -> None:
    queues = queues_on(MemoryDisk())
    assert queues.find("A", 0) is None
    fill(queues, "A", 3)
    fill(queues, "A", 2, queue_id=7)
    fill(queues, "B", 1)
    assert ends(queues) == {("A", 0): 3, ("A", 7): 2, ("B", 0): 1}
    assert queues.topics() == ["A", "B"]
    assert queues.queue_ids("A") == [0, 7]
    assert queues.queue_ids("C") == []


def test_stored_queues_are_found_again() -> None:
    disk = MemoryDisk()
    queues = queues_on(disk)
    fill(queues, "A", 12)
    fill(queues, "%RETRY%g", 4, queue_id=3)
    queues.sync_all()
    assert ends(queues_on(disk)) == ends(queues)


def test_load_opens_no_queue() -> None:
    disk = MemoryDisk()
    queues = queues_on(disk)
    for number in range(10):
        fill(queues, f"T{number}", 3)
    queues.sync_all()
    again = queues_on(disk)
    assert list(again.opened()) == []
    queue = again.find("T3", 0)
    assert queue is not None
    assert queue.end == 3
    assert again.open_some(4) == 5
    assert again.open_some(100) == 0
    assert len(list(again.opened())) == 10


def test_decisions_about_all_queues_apply_to_queues_opened_later() -> None:
    disk = MemoryDisk()
    queues = queues_on(disk)
    fill(queues, "A", 12)
    fill(queues, "B", 3)
    queues.sync_all()
    again = queues_on(disk, log_minimum=100)
    again.raise_minimum(200)
    again.cut_to_log(700)
    again.cut_to_log(900)  # a later position takes nothing back
    first, second = again.find("A", 0), again.find("B", 0)
    assert first is not None
    assert second is not None
    assert (first.minimum, first.end) == (2, 7)
    assert (second.minimum, second.end) == (2, 3)


def test_damaged_queue_is_reported_and_cut() -> None:
    disk = MemoryDisk()
    queues = queues_on(disk)
    fill(queues, "A", 15)
    queues.sync_all()
    disk.remove(f"consumequeue/A/0/{FILE_BYTES:020d}")
    again = queues_on(disk)
    queue = again.find("A", 0)
    assert queue is not None
    assert queue.end == 5
    assert list(again.faults) == [queue]
    assert "missing" in again.faults[queue]
    assert again.append("A", 0, 15, 1500, 100, 0) is Appended.GAP
    again.clear(queue)
    assert not again.faults
    assert again.append("A", 0, 15, 1500, 100, 0) is Appended.ADDED


@pytest.mark.parametrize("name", ["-1", "x", "01", "2147483648", "٣"])
def test_foreign_folders_are_refused(name: str) -> None:
    disk = MemoryDisk()
    disk.make_folder(f"consumequeue/A/{name}")
    with pytest.raises(CorruptionError, match=f"consumequeue/A/{name}"):
        queues_on(disk)


def test_topic_name_that_leaves_the_folder_is_refused() -> None:
    disk = MemoryDisk()
    queues = queues_on(disk)
    with pytest.raises(LocalError, match="cannot be the name of a folder"):
        queues.append("../commitlog", 0, 0, 0, 100, 0)
    queues.delete_topic("../commitlog")
    assert queues.topics() == []
    assert [entry.name for entry in disk.list("")] == ["consumequeue"]


def test_deleting_a_topic_removes_its_queues_and_folders() -> None:
    disk = MemoryDisk()
    queues = queues_on(disk)
    fill(queues, "A", 12)
    fill(queues, "A", 1, queue_id=1)
    fill(queues, "B", 1)
    queues.sync_all()
    fill(queues, "A", 1, begin=12)
    queues.delete_topic("A")
    assert queues.topics() == ["B"]
    assert (queues.unwritten_bytes, list(queues.unsynced)) == (0, [])
    assert queues.deleted.remove_some(1) == 1
    assert [entry.name for entry in disk.list("consumequeue/A")] == ["1"]
    assert queues.deleted.remove_some(1) == 0
    assert [entry.name for entry in disk.list("consumequeue")] == ["B"]
    fill(queues, "A", 1)
    assert ends(queues) == {("A", 0): 1, ("B", 0): 1}


def test_recreated_topic_has_no_units_of_the_old_one() -> None:
    disk = MemoryDisk()
    queues = queues_on(disk)
    fill(queues, "A", 12)
    fill(queues, "A", 4, queue_id=1)
    queues.sync_all()
    queues.delete_topic("A")
    queues.deleted.remove_some(2)
    fill(queues, "A", 1)
    queues.sync_all()
    assert ends(queues) == ends(queues_on(disk)) == {("A", 0): 1}


def test_unwritten_and_unopened_topics_can_be_deleted() -> None:
    disk = MemoryDisk()
    queues = queues_on(disk)
    fill(queues, "A", 1)
    queues.delete_topic("A")
    queues.delete_topic("never")
    assert queues.unwritten_bytes == 0
    fill(queues, "B", 1)
    queues.sync_all()
    again = queues_on(disk)
    again.delete_topic("B")
    again.deleted.remove_some(1)
    again.sync_all()
    assert not disk.list("consumequeue")
    assert again.open_some(10) == 0


def test_unwritten_bytes_are_counted_and_written_oldest_first() -> None:
    disk = MemoryDisk()
    queues = queues_on(disk)
    fill(queues, "A", 4)
    fill(queues, "B", 3)
    fill(queues, "C", 2)
    assert queues.unwritten_bytes == 9 * UNIT_BYTES
    queues.write_down_to(4 * UNIT_BYTES)
    assert [queue.unwritten_bytes // UNIT_BYTES for queue in queues.queues()] == [0, 0, 2]
    assert queues.unwritten_bytes == 2 * UNIT_BYTES
    assert len(queues.unsynced) == 3
    queues.cut_to_log(100)
    assert queues.unwritten_bytes == UNIT_BYTES
    queues.sync_all()
    assert (queues.unwritten_bytes, list(queues.unsynced)) == (0, [])


def test_the_topic_named_like_a_file_is_ignored() -> None:
    disk = MemoryDisk()
    disk.make_folder("consumequeue")
    disk.create("consumequeue/readme")
    assert queues_on(disk).topics() == []


def test_expired_files_follow_the_logs_minimum() -> None:
    disk = MemoryDisk()
    queues = queues_on(disk)
    fill(queues, "A", 12)
    queues.sync_all()
    queue = queues.find("A", 0)
    assert queue is not None
    assert queues.expired_file(queue) == ""
    queues.raise_minimum(700)
    assert queue.minimum == 7
    assert not queues.faults
    assert queues.expired_file(queue) == f"consumequeue/A/0/{0:020d}"
    assert queues.expired_file(queue) == ""


def test_few_files_are_open_however_many_queues_there_are() -> None:
    disk = MemoryDisk()
    queues = Queues(disk, FILE_BYTES, open_files=3)
    for number in range(50):
        fill(queues, f"T{number}", 2)
    queues.sync_all()
    for queue in queues.queues():
        assert len(queue.read(0, 10) or b"") == 2 * UNIT_BYTES
    assert len(queues._folders.files) == 3
    queues.close()
    assert len(queues._folders.files) == 0


# ------------------------------------------------------------------ the snapshot of a clean stop


def stopped(disk: MemoryDisk) -> list[TopicState]:
    """Topics A with queues 0 and 1 and B with queue 0, after a stop."""
    disk.now_ms = 1000
    queues = queues_on(disk)
    fill(queues, "A", 12)
    fill(queues, "A", 3, queue_id=1)
    fill(queues, "B", 4)
    queues.raise_minimum(200)
    queues.sync_all()
    disk.now_ms = 2000
    return list(queues.states())


def test_with_a_snapshot_no_queue_is_opened() -> None:
    disk = MemoryDisk()
    snapshot = stopped(disk)
    again = Queues(FaultyDisk(storage=disk.storage), FILE_BYTES)
    assert again.load(200, snapshot=snapshot) == []
    assert [queue.topic for queue in again.opened()] == ["A", "A", "B"]
    assert again.open_some(10) == 0
    assert list(again.states()) == snapshot
    assert [queue.minimum for queue in again.queues()] == [2, 2, 2]
    fill(again, "A", 3, begin=12)
    again.sync_all()
    assert ends(queues_on(disk)) == {("A", 0): 15, ("A", 1): 3, ("B", 0): 4}


def test_only_folders_of_changed_topics_are_listed() -> None:
    disk = MemoryDisk()
    snapshot = stopped(disk)
    disk.make_folder("consumequeue/B/7")
    spy = FaultyDisk(storage=disk.storage)
    spy.fail("list", path="consumequeue/A")
    again = Queues(spy, FILE_BYTES)
    assert again.load(200, snapshot=snapshot) == []
    assert again.queue_ids("B") == [0, 7]
    assert again.open_some(0) == 1


def test_removed_folders_of_queues_are_reported() -> None:
    disk = MemoryDisk()
    snapshot = stopped(disk)
    for path in (f"A/1/{0:020d}", "A/1", f"B/0/{0:020d}", "B/0", "B"):
        disk.remove(f"consumequeue/{path}")
    again = Queues(disk, FILE_BYTES)
    assert again.load(200, snapshot=snapshot) == [("A", 1), ("B", 0)]
    assert ends(again) == {("A", 0): 12}
    assert again.append("A", 1, 2, 200, 100, 0) is Appended.ADDED


def test_unused_snapshot_is_void() -> None:
    disk = MemoryDisk()
    snapshot = stopped(disk)
    stamp = queue_snapshot.stamp(disk, 0, 1000, FILE_BYTES)
    queue_snapshot.save(disk, stamp, snapshot)
    queues_on(disk)
    assert queue_snapshot.take(disk, stamp) is None


def test_a_queue_without_files_needs_no_folder() -> None:
    disk = MemoryDisk()
    queues = queues_on(disk)
    fill(queues, "A", 3)
    queues.cut_to_log(0)
    again = Queues(disk, FILE_BYTES)
    assert again.load(0, snapshot=list(queues.states())) == []
    assert ends(again) == {("A", 0): 0}


def test_unopened_queues_are_found_without_the_snapshot() -> None:
    disk = MemoryDisk()
    stopped(disk)
    queues = queues_on(disk)
    fill(queues, "A", 1, begin=12)
    queues.sync_all()
    again = Queues(disk, FILE_BYTES)
    assert again.load(0, snapshot=list(queues.states())) == []
    assert len(list(again.opened())) == 1
    assert ends(again) == {("A", 0): 13, ("A", 1): 3, ("B", 0): 4}


# ------------------------------------------------------------------ false units


def test_after_a_crash_of_gantry_no_queue_is_wiped() -> None:
    disk = FaultyDisk()
    queues = Queues(disk, FILE_BYTES)
    queues.load(0)
    fill(queues, "A", 4)
    queues.sync_all()
    again = Queues(disk, FILE_BYTES)
    again.load(0, AfterCrash(200, lambda *_: True, is_ours=True))
    done = disk.operations
    queue = again.find("A", 0)
    assert queue is not None
    assert (queue.end, again.is_settled, disk.operations) == (2, True, done)
    assert not again.unsynced
    fill(again, "A", 1, begin=2)
    again.sync_all()
    assert ends(again) == {("A", 0): 3}


def test_after_a_crash_of_java_every_queue_is_wiped_and_synced() -> None:
    disk = MemoryDisk()
    queues = queues_on(disk)
    fill(queues, "A", 4)
    fill(queues, "B", 4)
    queues.sync_all()
    again = Queues(disk, FILE_BYTES)
    again.load(0, AfterCrash(200, lambda *_: True))
    assert not again.is_settled
    third = Queues(disk, FILE_BYTES)  # the second was stopped by a crash
    third.load(0, AfterCrash(200, lambda *_: True, is_ours=True))
    assert not third.is_settled
    third.sync_all()
    assert ends(queues_on(disk)) == {("A", 0): 2, ("B", 0): 2}
    assert not disk.list("gantry")


def test_cut_wipes_units_that_a_crash_left_behind_the_end() -> None:
    disk = MemoryDisk()
    queues = queues_on(disk)
    fill(queues, "A", 4)
    queues.sync_all()
    again = Queues(disk, FILE_BYTES)
    again.load(0, AfterCrash(100, lambda *_: True, is_ours=True))
    fill(again, "A", 3, begin=1)
    again.cut_to_log(300)
    again.sync_all()
    assert ends(queues_on(disk)) == {("A", 0): 3}
