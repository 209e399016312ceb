from __future__ import annotations

from gantrymq.store.files.dirty_queues import PATH, DirtyQueues
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.unsynced import lose_all


def stands(disk: FaultyDisk) -> bool:
    note = DirtyQueues(disk)
    note.look()
    return note.stands


def test_the_note_is_there_for_good_and_can_be_written_twice() -> None:
    disk = FaultyDisk(lose_all)
    assert not stands(disk)
    DirtyQueues(disk).write()
    disk = disk.crash()
    assert stands(disk)
    DirtyQueues(disk).write()
    assert disk.open(PATH).size() == 0


def test_removing_it_leaves_none_whether_there_was_one_or_not() -> None:
    disk = FaultyDisk()
    note = DirtyQueues(disk)
    note.remove()
    note.write()
    note.remove()
    assert not note.stands
    assert not stands(disk)
