"""Tests that a store is moved aside without loss, wherever the move stops."""

from __future__ import annotations

import contextlib

import pytest

from gantrymq.store.files import archive
from gantrymq.store.files.archive import Move
from gantrymq.testing.faulty_disk import FaultyDisk, PowerCut
from gantrymq.testing.unsynced import Chooser, keep_all, lose_all

FOLDER = "archive-20261128T031500.000000Z"
STAYS = "gantry/decision"
KEPT = ["lock", "lost+found/1", "config/plain_acl.yml", STAYS]
STORED = [
    "commitlog/00000000000000000000",
    "consumequeue/T/0/00000000000000000000",
    "config/topics.json",
    "checkpoint",
    "abort",
    "gantry/identity",
    "gantry/tails/1-2-3-abcdef01",
]


def filled(choose: Chooser = keep_all) -> FaultyDisk:
    disk = FaultyDisk(choose)
    for path in [*KEPT, *STORED]:
        put(disk, path, path.encode())
    return disk


def put(disk: FaultyDisk, path: str, data: bytes) -> None:
    folder = path.rpartition("/")[0]
    if folder:
        disk.make_folder(folder)
    file = disk.create(path)
    file.write(0, [data])
    file.sync()
    file.close()
    while True:
        disk.sync_folder(folder)
        if not folder:
            return
        folder = folder.rpartition("/")[0]


def tree(disk: FaultyDisk, folder: str = "") -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for each in disk.list(folder):
        path = f"{folder}/{each.name}" if folder else each.name
        if each.is_folder:
            found |= tree(disk, path)
        else:
            file = disk.open(path)
            found[path] = file.read(0, 1 << 20)
            file.close()
    return found


def archived() -> dict[str, bytes]:
    moved = {f"{FOLDER}/{path}": path.encode() for path in STORED}
    return moved | {path: path.encode() for path in KEPT}


def test_all_files_of_the_store_move_and_others_stay() -> None:
    disk = filled()
    archive.carry_out(disk, FOLDER, STAYS)
    assert tree(disk) == archived()
    assert archive.sources(disk, STAYS) == []


@pytest.mark.parametrize("choose", [keep_all, lose_all])
def test_interrupted_archive_is_finished_later(choose: Chooser) -> None:
    stops = 0
    for operations in range(1, 100):
        disk = filled(choose)
        disk.crash_at = disk.operations + operations
        with contextlib.suppress(PowerCut):
            archive.carry_out(disk, FOLDER, STAYS)
            break
        stops += 1
        disk = disk.crash()
        assert set(tree(disk).values()) == set(archived().values())
        archive.carry_out(disk, FOLDER, STAYS)
        found = tree(disk.crash())  # a crash may leave a file under its old name, too
        assert {path for path in found if not path.startswith(FOLDER)} == set(KEPT)
        assert found.items() >= archived().items()
        assert set(found.values()) == set(archived().values())
    assert stops > len(STORED)


def test_existing_name_in_the_archive_is_not_replaced() -> None:
    disk = filled()
    archive.carry_out(disk, FOLDER, STAYS)
    put(disk, "checkpoint", b"made by another program since")
    archive.carry_out(disk, FOLDER, STAYS)
    expected = archived() | {f"{FOLDER}/checkpoint.1": b"made by another program since"}
    assert tree(disk) == expected


def test_earlier_archives_stay_where_they_are() -> None:
    disk = filled()
    archive.carry_out(disk, FOLDER, STAYS)
    put(disk, "checkpoint", b"of the next store")
    archive.carry_out(disk, "archive-20261129T000000.000000Z", STAYS)
    assert tree(disk) == archived() | {
        "archive-20261129T000000.000000Z/checkpoint": b"of the next store"
    }


def test_identity_files_move_last() -> None:
    moves = archive.plan(["gantry/identity", "commitlog", "index"], [], "archive-1")
    assert moves == [
        Move("commitlog", "archive-1/commitlog"),
        Move("index", "archive-1/index"),
        Move("gantry/identity", "archive-1/gantry/identity"),
    ]
