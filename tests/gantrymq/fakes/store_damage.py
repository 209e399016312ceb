"""Doing harm to a store on a memory disk, and asking what a look at it finds."""

from __future__ import annotations

from collections.abc import Mapping

from gantrymq.store.offline.finding import Kind, Severity
from gantrymq.store.offline.inspection import Assumptions, Inspection
from gantrymq.testing.memory_disk import MemoryDisk

LOG = "commitlog/00000000000000000000"
SECOND_LOG = "commitlog/00000000000000065536"


def inspect(disk: MemoryDisk, sizes: Mapping[str, int] | None = None) -> Inspection:
    inspection = Inspection(disk, Assumptions(sizes or {}))
    for _ in inspection.run():
        pass
    return inspection


def found(disk: MemoryDisk) -> dict[Kind, Severity]:
    """What is worse than a note."""
    counts = inspect(disk).findings.counts()
    return {kind: severity for severity, kind in reversed(counts) if severity > Severity.NOTE}


def poke(disk: MemoryDisk, path: str, position: int, data: bytes) -> None:
    disk.open(path).write(position, [data])


def flip(disk: MemoryDisk, path: str, position: int, bits: int = 0xFF) -> None:
    """Change one byte."""
    file = disk.open(path)
    file.write(position, [bytes([file.read(position, 1)[0] ^ bits])])


def remove_tree(disk: MemoryDisk, folder: str) -> None:
    for entry in disk.list(folder):
        path = f"{folder}/{entry.name}"
        if entry.is_folder:
            remove_tree(disk, path)
        else:
            disk.remove(path)
    disk.remove(folder)


def tree(disk: MemoryDisk, folder: str = "") -> dict[str, bytes]:
    """Every file below the folder."""
    files: dict[str, bytes] = {}
    for entry in disk.list(folder):
        path = f"{folder}/{entry.name}" if folder else entry.name
        if entry.is_folder:
            files |= tree(disk, path)
        else:
            files[path] = disk.open(path).read(0, entry.size)
    return files
