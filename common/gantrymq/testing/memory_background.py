"""Implements the background work of the tests' disks: the test decides when each ticket ends.

    background = MemoryBackground(disk)
    ticket = background.sync(file)          # nothing has happened yet
    background.complete(ticket)             # or complete_all(), or never: a stuck device
    background.take_completions()

A job is carried out when the test completes it, on the content that the file then has, even if the
file was closed in between. A `sync` covers exactly the writes before it was requested.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

from gantrymq.base.disk import Completion, Disk, DiskError, File
from gantrymq.base.errors import LocalError
from gantrymq.testing.faulty_disk import FaultyFile
from gantrymq.testing.memory_disk import MemoryFile

DetachableFile: TypeAlias = MemoryFile | FaultyFile
"""A file whose jobs continue after it is closed."""


@dataclass(frozen=True, slots=True)
class Job:
    """A ticket that has not ended; `kind` is the name of the method of `Background`."""

    ticket: int
    kind: str
    path: str
    work: Callable[[], bytes]


@final
class MemoryBackground:
    """The `Background` of a `MemoryDisk` or a `FaultyDisk`."""

    __slots__ = ("_completions", "_disk", "_jobs", "_last_ticket")

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._jobs: dict[int, Job] = {}
        self._completions: list[Completion] = []
        self._last_ticket = 0

    @property
    def jobs(self) -> Sequence[Job]:
        """The jobs that have not ended, oldest first."""
        return tuple(self._jobs.values())

    def asked_since(self, ticket: int) -> Sequence[int]:
        """The open tickets that were issued after this one, oldest first."""
        if ticket == self._last_ticket:
            return ()
        return tuple(each for each in self._jobs if each > ticket)

    def sync(self, file: File) -> int:
        finish = _detachable(file).start_sync()
        return self._ask("sync", file.path, lambda: _finish(finish))

    def read(self, file: File, position: int, size: int) -> int:
        handle = _detachable(file).duplicate()
        return self._ask("read", file.path, lambda: _read(handle, position, size))

    def allocate(self, file: File, position: int, size: int) -> int:
        handle = _detachable(file).duplicate()
        return self._ask("allocate", file.path, lambda: _allocate(handle, position, size))

    def remove(self, path: str) -> int:
        return self._ask("remove", path, lambda: _remove(self._disk, path))

    def complete(self, ticket: int) -> None:
        """Complete this job."""
        job = self._jobs.pop(ticket, None)
        if job is None:
            raise LocalError(f"ticket {ticket} is not under way")
        try:
            self._completions.append(Completion(ticket, data=job.work()))
        except DiskError as error:
            self._completions.append(Completion(ticket, error=error))

    def complete_all(self) -> None:
        """Complete all open jobs, oldest first."""
        for ticket in tuple(self._jobs):
            self.complete(ticket)

    def complete_some(self, choose: Callable[[int], int]) -> None:
        """Complete any of the open jobs, in any order; `choose(n)` returns 0 to n - 1."""
        for _ in range(choose(len(self._jobs) + 1)):
            self.complete(self.jobs[choose(len(self._jobs))].ticket)

    def wait(self, seconds: float) -> None:
        """Complete the oldest job."""
        if not self._completions:
            self.complete(next(iter(self._jobs)))

    def take_completions(self) -> Sequence[Completion]:
        taken, self._completions = self._completions, []
        return taken

    def _ask(self, kind: str, path: str, work: Callable[[], bytes]) -> int:
        self._last_ticket += 1
        self._jobs[self._last_ticket] = Job(self._last_ticket, kind, path, work)
        return self._last_ticket


def _detachable(file: File) -> DetachableFile:
    if not isinstance(file, DetachableFile):
        raise LocalError(f"{file.path} is not a file of one of the tests' disks")
    return file


def _finish(sync: Callable[[], None]) -> bytes:
    sync()
    return b""


def _read(handle: File, position: int, size: int) -> bytes:
    try:
        return handle.read(position, size)
    finally:
        handle.close()


def _allocate(handle: File, position: int, size: int) -> bytes:
    try:
        handle.allocate(position, size)
    finally:
        handle.close()
    return b""


def _remove(disk: Disk, path: str) -> bytes:
    disk.remove(path)
    disk.sync_folder(path.rpartition("/")[0])
    return b""
