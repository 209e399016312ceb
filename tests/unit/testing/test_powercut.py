"""Tests the power-cut file system under the real disk: only unsynced data is lost."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from gantrymq.base.disk import DiskError, DiskFailure, File
from gantrymq.powercut.mount import Mount
from gantrymq.runtime.storage.disk import FolderDisk

pytestmark = pytest.mark.power_cut

CUTS = 50

PowerOn: TypeAlias = Callable[[Mount], FolderDisk]


@pytest.fixture
def power_on() -> Iterator[PowerOn]:
    """Opens the disk, as a program does that starts; all of them are closed in the end."""
    disks: list[FolderDisk] = []

    def opened(mount: Mount) -> FolderDisk:
        disks.append(FolderDisk(mount.root))
        return disks[-1]

    yield opened
    for disk in disks:
        disk.close()


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    with Mount(tmp_path) as mount:
        yield mount


def content(disk: FolderDisk, path: str) -> bytes:
    file = disk.open(path)
    data = file.read(0, file.size())
    file.close()
    return data


def saved(disk: FolderDisk, path: str, data: bytes) -> File:
    """A file that is synced."""
    file = disk.create(path)
    file.write(0, [data])
    file.sync()
    disk.sync_folder(path.rpartition("/")[0])
    return file


def test_synced_data_survives_and_unsynced_data_does_not(mount: Mount, power_on: PowerOn) -> None:
    disk = power_on(mount)
    file = saved(disk, "a", b"synced")
    file.write(6, [b"not synced"])
    assert file.read(0, 100) == b"syncednot synced"
    mount.cut("lose_all")
    assert content(power_on(mount), "a") == b"synced"


def test_kind_device_keeps_everything(mount: Mount, power_on: PowerOn) -> None:
    disk = power_on(mount)
    saved(disk, "a", b"synced").write(6, [b"not synced"])
    mount.cut("keep_all")
    assert content(power_on(mount), "a") == b"syncednot synced"


def test_names_need_their_folder_synced(mount: Mount, power_on: PowerOn) -> None:
    disk = power_on(mount)
    disk.make_folder("f")
    disk.sync_folder("")
    saved(disk, "f/old", b"old")
    saved(disk, "f/new", b"new")
    disk.rename("f/new", "f/old")
    disk.create("f/fresh").sync()
    mount.cut("lose_all")
    disk = power_on(mount)
    assert [entry.name for entry in disk.list("f")] == ["new", "old"]
    assert content(disk, "f/old") == b"old"


def test_the_same_seed_leaves_the_same_bytes(tmp_path: Path, power_on: PowerOn) -> None:
    def left(number: int) -> bytes:
        (tmp_path / str(number)).mkdir()
        with Mount(tmp_path / str(number)) as mount:
            disk = power_on(mount)
            file = saved(disk, "a", bytes(100_000))
            for block in range(20):
                file.write(block * 5000, [b"x" * 5000])
            mount.cut("seed 2")
            return content(power_on(mount), "a")

    first, second = left(1), left(2)
    assert first == second
    assert 0 < first.count(b"x") < 100_000


def appended_after_each_cut(mount: Mount, power_on: PowerOn, sync: Callable[[File], None]) -> int:
    """Append a record after each power cut; how many cuts took one that was acknowledged."""
    acknowledged, losses = b"", 0
    saved(power_on(mount), "log", b"").close()
    for number in range(CUTS):
        disk = power_on(mount)
        disk.lock("lock")
        file = disk.open("log")
        found = file.read(0, file.size())
        losses += not found.startswith(acknowledged)
        file.resize(len(acknowledged))
        acknowledged += b"record %d;" % number
        file.write(0, [acknowledged])
        sync(file)
        file.write(len(acknowledged), [b"never acknowledged" * 100])
        mount.cut(str(number))
        file.close()
    return losses


def test_fifty_power_cuts_lose_no_synced_data(mount: Mount, power_on: PowerOn) -> None:
    assert appended_after_each_cut(mount, power_on, lambda file: file.sync()) == 0


def test_same_cuts_reveal_a_writer_that_does_not_sync(mount: Mount, power_on: PowerOn) -> None:
    assert appended_after_each_cut(mount, power_on, lambda _: None) > CUTS // 4


def test_a_disk_without_power_answers_errors_and_nothing_hangs(
    mount: Mount, power_on: PowerOn
) -> None:
    disk = power_on(mount)
    file = saved(disk, "a", b"synced")
    mount.crash_at(mount.operations + 1)
    with pytest.raises(DiskError):
        file.write(0, [b"x"])
    for call in (file.sync, lambda: file.read(0, 1), lambda: disk.create("b")):
        with pytest.raises(DiskError):
            call()
    file.close()
    mount.cut("lose_all")
    assert content(power_on(mount), "a") == b"synced"


def test_everything_the_real_disk_does_works_here(mount: Mount, power_on: PowerOn) -> None:
    disk = power_on(mount)
    disk.make_folder("a/b")
    file = disk.create("a/b/c")
    file.allocate(0, 3 << 20)
    pieces = [os.urandom(1000) for _ in range(2000)]
    file.write(5, pieces)
    assert file.read(5, 2_000_000) == b"".join(pieces)
    file.forget_cached(0, 3 << 20)
    assert file.read_cached(0, 10) in {None, bytes(5) + pieces[0][:5]}
    file.resize(7)
    file.sync()
    assert disk.list("a/b")[0].size == file.size() == 7
    disk.rename("a/b", "a/z")
    assert content(disk, "a/z/c") == bytes(5) + pieces[0][:2]
    disk.remove_gradually("a/z/c")
    assert file.read(0, 5) == b""
    file.close()
    disk.remove("a/z")
    assert list(disk.list("a")) == []
    disk.create("a/x").close()
    with pytest.raises(DiskError) as caught:
        disk.remove("a")
    assert caught.value.failure is DiskFailure.EXISTS
    disk.lock("lock")
    with pytest.raises(DiskError, match="locked"):
        power_on(mount).lock("lock")


def test_a_full_partition_refuses_until_there_is_space(mount: Mount, power_on: PowerOn) -> None:
    disk = power_on(mount)
    mount.resize(1 << 20)
    usage = disk.usage("")
    assert (usage.total_bytes, usage.free_bytes) == (1 << 20, 1 << 20)
    file = disk.create("a")
    with pytest.raises(DiskError) as caught:
        file.allocate(0, 2 << 20)
    assert caught.value.failure is DiskFailure.NO_SPACE
    assert file.size() == 0
    file.allocate(0, 1 << 20)
    with pytest.raises(DiskError) as caught:
        file.write(1 << 20, [b"x"])
    assert caught.value.failure is DiskFailure.NO_SPACE
    mount.resize(2 << 20)
    file.write(1 << 20, [b"x"])
    file.close()


def test_failed_sync_is_reported_once_and_its_bytes_are_lost(
    mount: Mount, power_on: PowerOn
) -> None:
    disk = power_on(mount)
    file = saved(disk, "a", b"old")
    file.write(0, [b"new"])
    mount.fail("sync", path="a")
    with pytest.raises(DiskError) as caught:
        file.sync()
    assert caught.value.failure is DiskFailure.BROKEN
    file.sync()
    mount.cut("keep_all")
    assert content(power_on(mount), "a") == b"old"
    file.close()


def test_missing_requirements_are_named(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="its tests need root"):
        Mount(tmp_path / "missing")


def test_a_mount_ends_with_its_owner(tmp_path: Path) -> None:
    mount = Mount(tmp_path)
    assert os.path.ismount(mount.root)
    mount.close()
    assert not os.path.ismount(mount.root)
