"""The disk as the store's cores see it: files, folders, and tickets for what would stall a loop.

A core calls these ports and nothing else. What may wait for a device (`sync`, a cold `read`,
`allocate`, removing a large file) is also offered by `Background`, which answers with a ticket at
once and with a `Completion` later, handed to the core as an input of one of its next turns.

What the implementations promise, and the faulty one of the tests takes to the letter:

- `write` changes what `read` sees at once. It is on disk for good only when a `sync` of that file,
  begun after the write, has ended well. Until then a crash may keep it, lose it, or keep any part.
- A new, renamed or removed name is on disk for good only when its folder was synced.
- `allocate` reserves space and extends the file with zeros, or raises NO_SPACE with nothing
  changed. Writing inside allocated space never raises NO_SPACE.
- A failed `sync` says nothing about what is on disk, and a second one that succeeds does not
  either: the owner of the file must stop.
- Paths are relative to the disk's root, with `/` between the parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from gantrymq.base.errors import GantryError, LocalError


class DiskFailure(Enum):
    """Why the disk refused: what callers tell apart."""

    NO_SPACE = "no space left"
    NOT_FOUND = "no such file"
    EXISTS = "exists already"
    LOCKED = "locked by another process"
    TOO_MANY_FILES = "too many open files"
    BROKEN = "input/output error"


class DiskError(GantryError):
    """An operation failed; the text names it, the path, and the system's words."""

    def __init__(self, failure: DiskFailure, operation: str, path: str, detail: str = "") -> None:
        super().__init__(f"{operation} {path}: {detail or failure.value}")
        self.failure = failure
        self.operation = operation
        self.path = path


def path_parts(path: str) -> tuple[str, ...]:
    """The names a path leads through, none for the root itself; it cannot lead out of the root."""
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
    """An open file. Positions and sizes are bytes; nothing here moves a shared position."""

    @property
    def path(self) -> str: ...

    def size(self) -> int: ...

    def write(self, position: int, pieces: Sequence[bytes]) -> None:
        """Write all pieces behind each other; a failure may have written any part."""

    def read(self, position: int, size: int) -> bytes:
        """As many of these bytes as the file has; may wait for the device."""

    def read_cached(self, position: int, size: int) -> bytes | None:
        """The same without waiting; None when some of it would have to be waited for."""

    def allocate(self, position: int, size: int) -> None:
        """Reserve this range, extending the file with zeros where it ends earlier."""

    def resize(self, size: int) -> None:
        """Cut the file, or extend it with zeros without reserving space."""

    def sync(self) -> None:
        """Wait until every write so far, and the file's size, is on disk for good."""

    def forget_cached(self, position: int, size: int) -> None:
        """This range will not be read again soon: its memory may be given up."""

    def close(self) -> None: ...


class Disk(Protocol):
    """A folder tree. Everything blocks; what takes long is for start, stop or `Background`."""

    def open(self, path: str) -> File:
        """For reading and writing; NOT_FOUND when there is no such file."""

    def create(self, path: str) -> File:
        """A new, empty file; EXISTS when there is one. Its folder exists already."""

    def list(self, folder: str) -> Sequence[Entry]:
        """By name; empty when there is no such folder."""

    def make_folder(self, folder: str) -> None:
        """With its parents; nothing happens when it exists."""

    def rename(self, old: str, new: str) -> None:
        """Replaces `new` at once, as every reader sees it."""

    def remove(self, path: str) -> None:
        """A file, or an empty folder."""

    def sync_folder(self, folder: str) -> None: ...

    def usage(self, folder: str) -> Usage: ...

    def lock(self, path: str) -> None:
        """Hold this file's first byte until the process ends; LOCKED when another one does."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What became of a ticket: its data for a read, its error when it failed."""

    ticket: int
    data: bytes = b""
    error: DiskError | None = None


class Background(Protocol):
    """Work that may wait, done elsewhere. Tickets are positive and never used again.

    Jobs on one file are not ordered among each other, except that a `sync` covers every write that
    returned before it was asked for. The owner bounds how many it has under way.
    """

    def sync(self, file: File) -> int: ...

    def read(self, file: File, position: int, size: int) -> int: ...

    def allocate(self, file: File, position: int, size: int) -> int: ...

    def remove(self, path: str) -> int:
        """Remove a file little by little, so that other writers are not held up."""

    def wait(self, seconds: float) -> None:
        """Until something has ended, at most so long: for a stop, while tickets are under way."""

    def take_completions(self) -> Sequence[Completion]:
        """What ended since the last call, in the order it ended."""
