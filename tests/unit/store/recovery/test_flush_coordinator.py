"""Tests what is on disk while the disk is full or fails."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.base.disk import DiskFailure
from gantrymq.fakes.stores.store import SETTINGS, SYNC, OpenedStore
from gantrymq.store.files.segments import SyncFailedError
from gantrymq.store.record.put_status import PutStatus
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.unsynced import keep_all, lose_all

THOROUGH_SECONDS = 61.0


def with_units(disk: FaultyDisk) -> OpenedStore:
    """A store whose units are due to be written, the log being flushed."""
    opened = OpenedStore(disk)
    opened.put(1)
    opened.turn()
    opened.turn(11.0)
    opened.settle()
    return opened


def test_writes_of_units_are_retried_at_intervals() -> None:
    disk = FaultyDisk()
    opened = with_units(disk)
    disk.fail("write", DiskFailure.NO_SPACE, path="consumequeue/T/0/00000000000000000000")
    opened.turn(THOROUGH_SECONDS)
    assert opened.now < opened.store.deadline() <= opened.now + 1.0
    opened.turn(0.5)
    opened.settle()
    queue = opened.store.queues.find("T", 0)
    assert queue is not None
    assert queue.synced == queue.end == 1


@pytest.mark.parametrize("has_index", [True, False])
def test_every_write_is_eventually_done(has_index: bool) -> None:
    """Each turn does its due work; otherwise the next turn would follow at once."""
    opened = OpenedStore(FaultyDisk(), replace(SETTINGS, message_index_enable=has_index))
    for number in range(5):
        opened.put(number)
        opened.turn(THOROUGH_SECONDS)
        opened.settle()
        assert opened.store.deadline() > opened.now


def test_a_folder_that_cannot_be_synced_ends_everything() -> None:
    disk = FaultyDisk()
    opened = with_units(disk)
    disk.fail("sync_folder", path="consumequeue/T/0")
    with pytest.raises(SyncFailedError):
        opened.turn(THOROUGH_SECONDS)


def test_stop_without_space_has_synced_all_acknowledged_sends() -> None:
    disk = FaultyDisk(lambda count: count - 1)  # what is refused was written, and is in the way
    opened = OpenedStore(disk, SYNC)
    opened.put(1)
    opened.turn()
    disk.fail("write", path="commitlog/00000000000000000000", times=100)
    opened.put(2)
    opened.turn()
    disk.choose = keep_all  # and no zero is written over it
    (answer,) = opened.close().answers
    assert answer.status is PutStatus.PUT_OK
    disk.choose = lose_all
    assert OpenedStore(disk.crash(), SYNC).bodies()[0] == b"body 1"
