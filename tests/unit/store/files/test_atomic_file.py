"""Tests that a crash or a refused write leaves the old or the new content, never a mixture."""

from __future__ import annotations

import contextlib

import pytest

from gantrymq.base.disk import DiskError
from gantrymq.store.files import atomic_file
from gantrymq.testing.faulty_disk import FaultyDisk, PowerCut
from gantrymq.testing.unsynced import Chooser, keep_all, lose_all

PATH = "gantry/list"


def content(disk: FaultyDisk) -> bytes | None:
    return atomic_file.content(disk, PATH, 1 << 20)


@pytest.mark.parametrize("choose", [keep_all, lose_all])
def test_crash_leaves_the_old_or_the_new_content(choose: Chooser) -> None:
    seen = set()
    for operations in range(1, 20):
        disk = FaultyDisk(choose)
        disk.make_folder("gantry")
        disk.sync_folder("")
        atomic_file.replace(disk, PATH, b"old")
        disk.crash_at = disk.operations + operations
        with contextlib.suppress(PowerCut):
            atomic_file.replace(disk, PATH, b"new and longer")
        disk = disk.crash()
        seen.add(content(disk))
        atomic_file.replace(disk, PATH, b"next")
        assert content(disk.crash()) == b"next"
    assert seen == {b"old", b"new and longer"}


def test_refused_write_leaves_the_old_content() -> None:
    disk = FaultyDisk()
    atomic_file.replace(disk, PATH, b"old")
    for operation in ("create", "write", "sync", "rename"):
        disk.fail(operation)
        with pytest.raises(DiskError):
            atomic_file.replace(disk, PATH, b"new")
        assert content(disk) == b"old"


def test_missing_file_has_no_content_and_removal_is_no_error() -> None:
    disk = FaultyDisk()
    assert content(disk) is None
    assert not atomic_file.remove(disk, PATH)
    atomic_file.replace(disk, PATH, b"")
    assert content(disk) == b""
    assert atomic_file.remove(disk, PATH)
    assert content(disk) is None
