"""Defines the disk ports of the store's cores: files, folders, and tickets for slow operations.

A core uses these ports and no other I/O. Operations that may wait for a device (`sync`, a cold
`read`, `allocate`, removing a large file) are also offered by `Background`, which returns a ticket
at once and a `Completion` later. The core gets the completion as input of one of its next turns.

All implementations guarantee the following, and the faulty disk of the tests guarantees no more:

- `read` sees a `write` at once. The write is durable only when a `sync` of that file that began
  after it has succeeded. Until then a crash may keep it, lose it, or keep any part.
- A new, renamed or removed name is durable only when its folder was synced.
- `allocate` reserves space and extends the file with zeros, or raises NO_SPACE with nothing
  changed. Writing inside allocated space never raises NO_SPACE.
- After a failed `sync` it is unknown what is on disk, even if a second one succeeds: the owner of
  the file must stop.
- Paths are relative to the disk's root, with `/` between the parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from gantrymq.base.errors import GantryError, LocalError


class DiskFailure(Enum):
    """Why the disk refused an operation, as far as callers distinguish it."""

    NO_SPACE = "no space left"
    NOT_FOUND = "no such file"
    EXISTS = "exists already"
    LOCKED = "locked by another process"
    TOO_MANY_FILES = "too many open files"
    BROKEN = "input/output error"


class DiskError(GantryError):
    """A failed operation; the text names it, the path, and the system's error."""

    def __init__(self, failure: DiskFailure, operation: str, path: str, detail: str = "") -> None:
        super().__init__(f"{operation} {path}: {detail or failure.value}")
        self.failure = failure
        self.operation = operation
        self.path = path


def path_parts(path: str) -> tuple[str, ...]:
    """The names in a path, none for the root itself; LocalError if it could leave the root."""
    parts = tuple(path.split("/")) if path else ()
    if "\0" in path or any(part in {"", ".", ".."} for part in parts):
        raise LocalError(f"not a path below the disk's root: {path!r}")
    return parts


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a folder."""

    name: str
    is_folder: bool
    size: int
    modified_ms: int


@dataclass(frozen=True, slots=True)
class Usage:
    """The size and free space of a partition in bytes, without the space reserved for root."""

    total_bytes: int
    free_bytes: int
    reserved_bytes: int = 0
    """Further free space that only root may use."""


class File(Protocol):
    """An open file. Positions and sizes are bytes; there is no shared file position."""

    @property
    def path(self) -> str: ...

    def size(self) -> int: ...

    def write(self, position: int, pieces: Sequence[bytes]) -> None:
        """Write all pieces one after the other; after a failure any part may be written."""

    def read(self, position: int, size: int) -> bytes:
        """Read these bytes, fewer at the end of the file; may wait for the device."""

    def read_cached(self, position: int, size: int) -> bytes | None:
        """Read without waiting; None if any of the bytes is not cached."""

    def allocate(self, position: int, size: int) -> None:
        """Reserve this range; extends the file with zeros if it ends earlier."""

    def resize(self, size: int) -> None:
        """Truncate the file, or extend it with zeros without reserving space."""

    def sync(self) -> None:
        """Wait until every write so far, and the file's size, is durable."""

    def forget_cached(self, position: int, size: int) -> None:
        """Let the system drop this range from its cache, because it will not be read again soon."""

    def close(self) -> None: ...


class Disk(Protocol):
    """A folder tree. All operations block; slow ones are for start, stop or `Background`."""

    def open(self, path: str) -> File:
        """Open for reading and writing; NOT_FOUND if there is no such file."""

    def create(self, path: str) -> File:
        """Create a new, empty file in an existing folder; EXISTS if the name is taken."""

    def list(self, folder: str) -> Sequence[Entry]:
        """The entries sorted by name; empty if there is no such folder."""

    def make_folder(self, folder: str) -> None:
        """Create the folder and its parents; does nothing if it exists."""

    def rename(self, old: str, new: str) -> None:
        """Rename; replaces `new` atomically for every reader."""

    def remove(self, path: str) -> None:
        """Remove a file, or an empty folder."""

    def sync_folder(self, folder: str) -> None: ...

    def usage(self, folder: str) -> Usage: ...

    def lock(self, path: str) -> None:
        """Lock this file's first byte until the process ends; LOCKED if another process holds
        it."""


@dataclass(frozen=True, slots=True)
class Completion:
    """The outcome of a ticket: its data for a read, its error if it failed."""

    ticket: int
    data: bytes = b""
    error: DiskError | None = None


class Background(Protocol):
    """Runs slow work outside of the event loop. Tickets are positive and never reused.

    Jobs on one file are not ordered among each other, except that a `sync` covers every write that
    returned before the call. The owner bounds how many jobs are in progress.
    """

    def sync(self, file: File) -> int: ...

    def read(self, file: File, position: int, size: int) -> int: ...

    def allocate(self, file: File, position: int, size: int) -> int: ...

    def remove(self, path: str) -> int:
        """Remove a file in steps, so that other writers are not delayed."""

    def wait(self, seconds: float) -> None:
        """Wait until a job has ended, at most this long; for a stop with tickets in progress."""

    def take_completions(self) -> Sequence[Completion]:
        """The completions since the last call, in order."""
