"""Tests that deleted topics stay deleted, and recreated ones have only new messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from gantrymq.base.disk import DiskFailure
from gantrymq.fakes.stores.store import SYNC, OpenedStore, message
from gantrymq.store.consumequeue.queue_snapshot import PATH as SNAPSHOT
from gantrymq.store.dispatch import deletions
from gantrymq.store.dispatch.deleted_topics import PATH, Deleted, encode, read
from gantrymq.store.files.flush_positions import PATH as MARKS
from gantrymq.store.files.segments import SyncFailedError
from gantrymq.store.record.put_status import Refused
from gantrymq.testing.faulty_disk import FaultyDisk, PowerCut
from gantrymq.testing.unsynced import Chooser, keep_all, lose_all


def put(opened: OpenedStore, *numbers: int, topic: str = "T", seconds: float = 0.0) -> None:
    opened.put(*numbers, topic=topic)
    opened.turn(seconds)
    opened.settle()


def delete(opened: OpenedStore, topic: str = "T") -> None:
    opened.store.delete_topic(topic)
    opened.turn()


def bodies(numbers: Sequence[int]) -> list[bytes]:
    return [b"body %d" % number for number in numbers]


def delete_in_vain(opened: OpenedStore) -> None:
    """Delete the topic on a disk that refuses to remove files of its first queue."""
    folder = "consumequeue/T/0"
    assert isinstance(opened.disk, FaultyDisk)
    for entry in opened.disk.list(folder):
        opened.disk.fail("remove", path=f"{folder}/{entry.name}", times=100)
    delete(opened)


def begin_to_remove(opened: OpenedStore, path: str) -> None:
    """Delete files of the log until the removal of this file is under way."""
    assert opened.store.retention is not None
    opened.store.retention.delete_now()
    for _ in range(100):
        if ("remove", path) in [(job.kind, job.path) for job in opened.background.jobs]:
            return
        opened.background.complete_all()
        opened.turn(1.0)
    raise AssertionError(f"no removal of {path} was begun")


def remove_tree(disk: FaultyDisk, folder: str) -> None:
    for entry in disk.list(folder):
        path = f"{folder}/{entry.name}"
        if entry.is_folder:
            remove_tree(disk, path)
        else:
            disk.remove(path)
    if disk.memory.find(folder) is not None:
        disk.remove(folder)


def made_again(disk: FaultyDisk) -> OpenedStore:
    """A topic of twenty messages that was deleted and recreated with five; all of them are above
    the queues' flush position."""
    opened = OpenedStore(disk, replace(SYNC, flush_consume_queue_least_pages=0))
    put(opened, *range(20), seconds=2.0)
    put(opened, *range(500, 503), topic="other")
    delete(opened)
    put(opened, *range(100, 105))
    return opened


# ---------------------------------------------------------------------- starts


@pytest.mark.parametrize("choose", [keep_all, lose_all])
@pytest.mark.parametrize("lost", ["", "consumequeue", "consumequeue/T"])
def test_recreated_topic_has_only_its_own_messages_after_a_crash(
    choose: Chooser, lost: str
) -> None:
    disk = FaultyDisk(choose)
    made_again(disk)
    disk = disk.crash()
    if lost:
        remove_tree(disk, lost)
    for life in range(3):
        again = OpenedStore(disk, SYNC)
        assert again.bodies() == bodies(range(100, 105 + life))
        assert again.bodies("other") == bodies(range(500, 503))
        put(again, 105 + life)
        disk = disk.crash()


def test_recreated_topic_has_only_its_own_messages_when_queues_are_rebuilt() -> None:
    disk = FaultyDisk()
    made_again(disk).close()
    remove_tree(disk, "consumequeue")
    assert OpenedStore(disk, SYNC).bodies() == bodies(range(100, 105))


@pytest.mark.parametrize("choose", [keep_all, lose_all])
def test_queues_whose_folders_were_not_removed_yet_do_not_come_back(choose: Chooser) -> None:
    disk = FaultyDisk(choose)
    opened = OpenedStore(disk, SYNC)
    for queue_id in range(20):
        opened.store.put(message(queue_id, queue_id=queue_id))
    for _ in range(3):
        opened.turn(100.0)
        opened.settle()
    delete(opened)
    assert disk.list("consumequeue/T")
    again = OpenedStore(disk.crash(), SYNC)
    assert not again.store.queues.topics()
    again.turn(10.0)
    again.close()
    assert not again.disk.list("consumequeue")


def test_old_files_do_not_appear_in_recreated_queues() -> None:
    disk = FaultyDisk()
    opened = OpenedStore(disk, replace(SYNC, flush_consume_queue_least_pages=0))
    put(opened, *range(25), seconds=2.0)
    put(opened, seconds=2.0)
    delete_in_vain(opened)
    opened.store.put(message(100, queue_id=1))
    opened.turn()
    opened.settle()
    opened.close()
    disk = disk.crash()
    opened = OpenedStore(disk, SYNC)
    put(opened, *range(200, 210))  # fewer than the old queue had
    opened.close()
    disk.remove(SNAPSHOT)
    assert OpenedStore(disk, SYNC).bodies() == bodies(range(200, 210))


def test_deleted_queues_are_not_reported_as_missing() -> None:
    disk = FaultyDisk()
    opened = OpenedStore(disk, SYNC)
    put(opened, *range(20))
    put(opened, 20, topic="other")
    for _ in range(4):
        opened.turn(100.0)
        opened.settle()
    delete(opened)
    opened.turn(2.0)
    disk = disk.kill()
    assert OpenedStore(disk, SYNC).store.report.walked_bytes == 0
    disk = disk.kill()
    remove_tree(disk, "consumequeue/other")
    assert OpenedStore(disk, SYNC).bodies("other") == bodies([20])


@pytest.mark.parametrize("is_full", [False, True])
def test_list_that_was_read_unsynced_is_synced(is_full: bool) -> None:
    disk = FaultyDisk(lose_all)
    opened = OpenedStore(disk, SYNC)
    put(opened, *range(5))
    disk.crash_at = disk.operations + 4  # in front of the folder's sync
    with pytest.raises(PowerCut):
        delete(opened)
    disk = disk.kill()
    assert read(disk)
    if is_full:
        disk.fail("create", DiskFailure.NO_SPACE)
    again = OpenedStore(disk, SYNC)
    put(again, 100)
    assert OpenedStore(disk.crash(), SYNC).bodies() == bodies([100])


def test_deletion_is_forgotten_when_a_crash_truncates_the_log() -> None:
    disk = FaultyDisk(lose_all)
    opened = OpenedStore(disk)
    put(opened, *range(3))
    opened.turn(11.0)
    opened.settle()
    flushed = opened.store.log.end
    put(opened, *range(3, 20))
    delete(opened)
    disk = disk.crash()
    for life in range(3):
        again = OpenedStore(disk, SYNC)
        assert again.bodies() == bodies(range(100, 100 + life))
        put(again, 100 + life)
        disk = disk.crash()
    assert read(disk)["T"].position == flushed


@pytest.mark.parametrize("lost", ["", "consumequeue"])
def test_messages_of_another_broker_at_the_same_positions_are_visible(lost: str) -> None:
    disk = FaultyDisk()
    opened = OpenedStore(disk, SYNC)
    put(opened, *range(5))
    position, newest_ms = opened.store.log.end, opened.store.log.store_timestamp_ms
    opened.close()
    disk.remove(MARKS)
    remove_tree(disk, lost or "index")
    for earlier_ms, expected in ((1, bodies(range(5))), (0, [])):
        heir = disk.crash()
        list_ = {"T": Deleted(position + 1000, newest_ms - earlier_ms)}
        heir.create(PATH).write(0, [encode(list_)])
        assert OpenedStore(heir, SYNC).bodies() == expected


# ---------------------------------------------------------------------- deleting


def test_deletions_of_lost_records_are_left_out() -> None:
    settings = replace(SYNC, file_reserved_time=0)
    opened = OpenedStore(FaultyDisk(), settings)
    put(opened, 1, topic="old")
    delete(opened, "old")
    put(opened, *range(100))
    assert set(read(opened.disk)) == {"old"}
    for _ in range(4):
        opened.turn(100.0)
        opened.settle()
    retention = opened.store.retention
    assert retention is not None
    retention.delete_now()
    for _ in range(10):
        opened.turn(1.0)
        opened.settle()
    assert opened.store.log.start
    delete(opened, "T")
    assert set(read(opened.disk)) == {"T"}


def test_oldest_deletions_are_dropped_beyond_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletions, "TOPICS_MAX", 2)
    opened = OpenedStore(FaultyDisk())
    for topic in "ABC":
        put(opened, 1, topic=topic)
        delete(opened, topic)
    assert set(read(opened.disk)) == {"B", "C"}


def test_a_topic_without_messages_leaves_no_note() -> None:
    opened = OpenedStore(FaultyDisk())
    delete(opened, "never")
    assert not read(opened.disk)


def test_undispatched_messages_are_deleted_too() -> None:
    disk = FaultyDisk()
    opened = OpenedStore(disk, replace(SYNC, flush_consume_queue_least_pages=0))
    for _ in range(3):
        put(opened, 1, seconds=100.0)
    disk.fail("remove", path="consumequeue/T/0", times=3)
    delete(opened)
    opened.put(2)
    opened.turn()
    assert opened.store.dispatch_behind
    delete(opened)
    opened.turn()
    assert not opened.store.dispatch_behind
    put(opened, 3)
    assert opened.bodies() == bodies([3])


def test_messages_appear_after_the_old_file_is_removed() -> None:
    disk = FaultyDisk()
    settings = replace(SYNC, file_reserved_time=0, flush_consume_queue_least_pages=0)
    opened = OpenedStore(disk, settings)
    for number in range(4):
        put(opened, *range(number * 25, number * 25 + 25), seconds=2.0)
    begin_to_remove(opened, "consumequeue/T/0/00000000000000000000")
    delete(opened)
    opened.put(200, 201)
    opened.turn()
    assert opened.bodies() == []
    opened.settle()
    assert opened.bodies() == bodies([200, 201])
    opened.close()
    assert OpenedStore(disk, settings).bodies() == bodies([200, 201])


def test_no_message_is_accepted_before_a_deletion_is_saved() -> None:
    disk = FaultyDisk()
    opened = OpenedStore(disk)
    put(opened, 1)
    disk.fail("create", DiskFailure.BROKEN)
    delete(opened)
    refused = opened.store.put(message(2))
    assert isinstance(refused, Refused)
    assert "deleted" in refused.text
    assert opened.bodies() == bodies([1])
    assert opened.store.deadline() <= opened.now + 0.25
    opened.turn(0.25)
    put(opened, 3)
    assert opened.bodies() == bodies([3])


def test_messages_refused_before_a_deletion_do_not_appear_after_it() -> None:
    disk = FaultyDisk(lambda count: count - 1)  # all of it was written
    opened = OpenedStore(disk)
    put(opened, 1)
    disk.fail("write", DiskFailure.NO_SPACE)
    opened.put(2)
    opened.turn()
    delete(opened)
    assert OpenedStore(disk.kill()).bodies() == []


def test_a_failed_sync_ends_the_process() -> None:
    disk = FaultyDisk()
    opened = OpenedStore(disk)
    put(opened, 1)
    disk.fail("sync")
    with pytest.raises(SyncFailedError):
        delete(opened)
