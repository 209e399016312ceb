"""Tests the lock of a directory, and how the last process left it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.fakes.stores.store import SETTINGS
from gantrymq.store.files.directory_lock import DirectoryLock
from gantrymq.store.layout import StoreRefusedError
from gantrymq.testing.faulty_disk import FaultyDisk

ROOT = replace(SETTINGS, store_path_root_dir="/store")


def names(disk: FaultyDisk) -> set[str]:
    return {entry.name for entry in disk.list("")}


def taken(disk: FaultyDisk) -> DirectoryLock:
    claim = DirectoryLock(disk)
    claim.take(ROOT)
    return claim


def test_killed_process_leaves_the_abort_file() -> None:
    disk = FaultyDisk()
    assert taken(disk).is_clean
    after = disk.crash()
    assert "abort" in names(after)
    assert not taken(after).is_clean


def test_clean_stop_leaves_no_abort_file() -> None:
    disk = FaultyDisk()
    taken(disk).leave()
    after = disk.crash()
    assert "abort" not in names(after)
    assert taken(after).is_clean


def test_start_that_changed_nothing_leaves_the_abort_file_as_it_was() -> None:
    clean = FaultyDisk()
    taken(clean).forget()
    assert "abort" not in names(clean)
    torn = clean.crash()
    taken(torn)
    torn = torn.crash()
    taken(torn).forget()
    assert "abort" in names(torn)


def test_another_log_is_refused_before_anything_is_touched() -> None:
    disk = FaultyDisk()
    with pytest.raises(StoreRefusedError, match="ln -s /elsewhere /store/commitlog"):
        DirectoryLock(disk).take(replace(ROOT, store_path_commit_log="/elsewhere"))
    assert not names(disk)
