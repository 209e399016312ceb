"""Damages a store on a memory disk, inspects it and repairs it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gantrymq.store.offline.finding import Kind, Severity
from gantrymq.store.offline.inspection import Assumptions, Inspection
from gantrymq.store.offline.repair import Tools, carry_out
from gantrymq.store.offline.repair_plan import RepairOptions, make_plan
from gantrymq.store.progress import Progress
from gantrymq.store.record.delay_levels import DelayLevels
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import MemoryDisk

LOG = "commitlog/00000000000000000000"
SECOND_LOG = "commitlog/00000000000000065536"
SIDE = "gantry/repair/now"


def inspect(disk: MemoryDisk, sizes: Mapping[str, int] | None = None) -> Inspection:
    inspection = Inspection(disk, Assumptions(sizes or {}))
    for _ in inspection.run():
        pass
    return inspection


def found(disk: MemoryDisk) -> dict[Kind, Severity]:
    """The findings that are worse than a note."""
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


def begin_repair(disk: MemoryDisk, options: RepairOptions, side: str = SIDE) -> Iterator[Progress]:
    seen = inspect(disk)
    names = iter(range(20261121013426966, 20261121013527000))
    levels = DelayLevels(StoreSettings().message_delay_level)
    background = MemoryBackground(disk)
    tools = Tools(disk, background, seen.sizes, levels, side, lambda: str(next(names)))
    return carry_out(make_plan(seen, options), tools)


def repair(disk: MemoryDisk, options: RepairOptions | None = None) -> None:
    for _ in begin_repair(disk, options or RepairOptions()):
        pass
