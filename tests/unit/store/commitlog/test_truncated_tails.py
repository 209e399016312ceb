"""Tests which truncated tails are kept, and which are deleted."""

from __future__ import annotations

from gantrymq.store.commitlog import truncated_tails as tails
from gantrymq.testing.memory_disk import MemoryDisk


def kept(disk: MemoryDisk, start: int, epoch: int, size: int = 10) -> str:
    disk.make_folder(tails.TAILS)
    path = tails.path_of(start, start + size, epoch, 0xABC)
    disk.create(path).write(0, [bytes(size)])
    return path


def paths(disk: MemoryDisk) -> list[str]:
    return [each.path for each in tails.list_tails(disk)]


def test_tails_are_listed_oldest_first() -> None:
    disk = MemoryDisk()
    late = kept(disk, 5, 10)
    early = kept(disk, 100, 9)
    assert paths(disk) == [early, late]
    (tail, _) = tails.list_tails(disk)
    assert (tail.start, tail.end, tail.epoch, tail.crc, tail.size) == (100, 110, 9, 0xABC, 10)


def test_files_with_other_names_are_ignored() -> None:
    disk = MemoryDisk()
    assert paths(disk) == []
    disk.make_folder(tails.TAILS)
    disk.create(f"{tails.TAILS}/notes")
    assert paths(disk) == []
    assert tails.make_room(disk, 0, 10, 1, 0) == []
    assert [each.name for each in disk.list(tails.TAILS)] == ["notes"]


def test_oldest_tails_are_deleted_to_make_room() -> None:
    disk = MemoryDisk()
    old = [kept(disk, number, number) for number in range(1, 6)]
    assert tails.make_room(disk, 9, 19, 9, 60) == []
    gone = tails.make_room(disk, 9, 19, 9, 35)
    assert [each.path for each in gone] == old[:3]
    assert paths(disk) == old[3:]


def test_number_of_tails_is_bounded() -> None:
    disk = MemoryDisk()
    for number in range(tails.FILES_MAX):
        kept(disk, number, number)
    assert len(tails.make_room(disk, 5, 6, 1000, 1 << 30)) == 1


def test_tail_of_the_same_interrupted_truncation_stays() -> None:
    disk = MemoryDisk()
    ours, older = kept(disk, 7, 3), kept(disk, 6, 3)
    gone = tails.make_room(disk, 7, 1000, 3, 0)
    assert [each.path for each in gone] == [older]
    assert paths(disk) == [ours]


def test_unfinished_tail_is_deleted() -> None:
    disk = MemoryDisk()
    path = kept(disk, 7, 3)
    disk.rename(path, path + tails.UNFINISHED)
    tails.make_room(disk, 9, 10, 4, 1 << 30)
    assert not disk.list(tails.TAILS)
