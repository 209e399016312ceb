"""Tests the note about dirty queues: it survives a crash, and can be removed if it is missing."""

from __future__ import annotations

from gantrymq.store.files.dirty_queues import PATH, DirtyQueues
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.unsynced import lose_all


def stands(disk: FaultyDisk) -> bool:
    note = DirtyQueues(disk)
    note.look()
    return note.stands


def test_note_is_synced_and_can_be_written_twice() -> None:
    disk = FaultyDisk(lose_all)
    assert not stands(disk)
    DirtyQueues(disk).write()
    disk = disk.crash()
    assert stands(disk)
    DirtyQueues(disk).write()
    assert disk.open(PATH).size() == 0


def test_removal_works_with_and_without_a_note() -> None:
    disk = FaultyDisk()
    note = DirtyQueues(disk)
    note.remove()
    note.write()
    note.remove()
    assert not note.stands
    assert not stands(disk)
