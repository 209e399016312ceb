"""Runs processes on each implementation of the disk port: memory, faulty and real."""

from __future__ import annotations

import select
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gantrymq.base.disk import Background, Completion, Disk
from gantrymq.runtime.storage.disk import FolderDisk
from gantrymq.runtime.storage.disk_background import DiskBackground
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import MemoryDisk

ANSWER_SECONDS = 30.0


@dataclass(frozen=True)
class Process:
    """One process's ways to the disk; `another` is a second process on the same one."""

    disk: Disk
    start_background: Callable[[], Background]
    complete: Callable[[int], list[Completion]]  # what ended, until this many did
    another: Callable[[], Disk]


def in_memory() -> Iterator[Process]:
    disk = MemoryDisk()
    background = MemoryBackground(disk)
    yield Process(
        disk, lambda: background, lambda _: complete(background), lambda: MemoryDisk(disk.storage)
    )


def faulty() -> Iterator[Process]:
    disk = FaultyDisk()
    background = MemoryBackground(disk)
    storage = disk.memory.storage
    yield Process(
        disk,
        lambda: background,
        lambda _: complete(background),
        lambda: FaultyDisk(storage=storage),
    )


def complete(background: MemoryBackground) -> list[Completion]:
    background.complete_all()
    return list(background.take_completions())


def real(root: Path) -> Iterator[Process]:
    disk = FolderDisk(root)
    others: list[FolderDisk] = []
    started: list[DiskBackground] = []

    def another() -> FolderDisk:
        others.append(FolderDisk(root))
        return others[-1]

    def start_background() -> DiskBackground:
        started.append(DiskBackground(disk))
        return started[-1]

    yield Process(disk, start_background, lambda count: wait(started[0], count), another)
    for background in started:
        background.close()
    for other in [disk, *others]:
        other.close()


def wait(background: DiskBackground, count: int) -> list[Completion]:
    ended: list[Completion] = []
    while len(ended) < count:
        assert select.select([background], [], [], ANSWER_SECONDS)[0], "no completion in time"
        ended.extend(background.take_completions())
    return ended
