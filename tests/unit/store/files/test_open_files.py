"""Tests that a bounded number of files is open, and that the longest unused is closed first."""

from __future__ import annotations

import pytest

from gantrymq.base.disk import DiskError, DiskFailure
from gantrymq.base.errors import LocalError
from gantrymq.store.files.open_files import OpenFiles
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_disk import MemoryDisk


def test_the_longest_unused_file_is_closed() -> None:
    disk = MemoryDisk()
    files = OpenFiles(disk, 2)
    first = files.create("a", 10)
    files.create("b", 10)
    assert files.get("a") is first
    second = files.get("b")
    files.create("c", 10)
    with pytest.raises(LocalError, match="closed"):
        first.size()
    assert second.size() == 10
    assert len(files) == 2


def test_a_closed_file_is_opened_again() -> None:
    files = OpenFiles(MemoryDisk(), 1)
    files.create("a", 4).write(0, [b"1234"])
    files.create("b", 4)
    assert files.get("a").read(0, 4) == b"1234"


def test_creating_replaces_what_a_failed_attempt_left() -> None:
    disk = MemoryDisk()
    disk.create("a").write(0, [b"left over"])
    assert OpenFiles(disk).create("a", 4).read(0, 100) == bytes(4)


def test_creating_fails_for_other_reasons() -> None:
    disk = FaultyDisk(lambda bound: 0)
    disk.fail("create", path="a", failure=DiskFailure.NO_SPACE)
    with pytest.raises(DiskError, match="no space"):
        OpenFiles(disk).create("a", 4)


def test_missing_file_is_not_found_and_its_removal_is_no_error() -> None:
    files = OpenFiles(MemoryDisk())
    with pytest.raises(DiskError) as raised:
        files.get("a")
    assert raised.value.failure is DiskFailure.NOT_FOUND
    files.remove("a")


def test_removing_closes_first() -> None:
    disk = MemoryDisk()
    files = OpenFiles(disk)
    file = files.create("a", 4)
    files.remove("a")
    assert not disk.list("")
    with pytest.raises(LocalError, match="closed"):
        file.size()


def test_closing_closes_all() -> None:
    files = OpenFiles(MemoryDisk())
    handles = [files.create(name, 1) for name in "abc"]
    files.close()
    assert len(files) == 0
    for handle in handles:
        with pytest.raises(LocalError, match="closed"):
            handle.size()


def test_at_least_one_file_may_be_open() -> None:
    with pytest.raises(LocalError, match="at least one"):
        OpenFiles(MemoryDisk(), 0)


def test_half_of_the_files_are_closed_at_the_limit_of_the_process() -> None:
    disk = FaultyDisk()
    files = OpenFiles(disk)
    for name in "abcd":
        files.create(name, 1)
    files.forget("d")
    disk.fail("open", DiskFailure.TOO_MANY_FILES)
    assert files.get("d").path == "d"
    assert len(files) == 2
