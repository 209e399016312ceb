"""Keeps a bounded number of files open, because a process may have fewer descriptors than queues.

A file is opened on request. It is closed when too many others were requested since, or when the
process may open no more. Jobs of a `Background` on a file that is closed meanwhile continue.

So the number of a broker's descriptors grows with the queues that it uses, up to the limit, and
stays there.
"""

from __future__ import annotations

from itertools import islice
from typing import Final, final

from gantrymq.base.disk import Disk, DiskError, DiskFailure, File
from gantrymq.base.errors import LocalError

# A quarter of the usual limit of 1024 descriptors a process; connections need the rest.
OPEN_FILES_MAX: Final = 256


@final
class OpenFiles:
    """Open files by path, the least recently used first."""

    __slots__ = ("_files", "disk", "limit")

    def __init__(self, disk: Disk, limit: int = OPEN_FILES_MAX) -> None:
        if limit < 1:
            raise LocalError(f"at least one file must be open, not {limit}")
        self.disk = disk
        self.limit = limit
        self._files: dict[str, File] = {}

    def __len__(self) -> int:
        return len(self._files)

    def get(self, path: str) -> File:
        """The file, to be used before another one is requested."""
        file = self._files.pop(path, None)
        return self._keep(path, self._open(path) if file is None else file)

    def _open(self, path: str) -> File:
        try:
            return self.disk.open(path)
        except DiskError as error:
            if error.failure is not DiskFailure.TOO_MANY_FILES or not self._files:
                raise
        for unused in list(islice(self._files, (len(self._files) + 1) // 2)):
            self.forget(unused)
        return self.disk.open(path)

    def create(self, path: str, size: int) -> File:
        """Create a file of this size, all zeros. A file left by a failed attempt is replaced."""
        try:
            file = self.disk.create(path)
        except DiskError as error:
            if error.failure is not DiskFailure.EXISTS:
                raise
            file = self.get(path)
        self._keep(path, file)
        file.resize(0)
        file.resize(size)
        return file

    def remove(self, path: str) -> None:
        """Remove the file, if it exists."""
        self.forget(path)
        try:
            self.disk.remove(path)
        except DiskError as error:
            if error.failure is not DiskFailure.NOT_FOUND:
                raise

    def forget(self, path: str) -> None:
        """Close the file, before it is removed."""
        file = self._files.pop(path, None)
        if file is not None:
            file.close()

    def close(self) -> None:
        while self._files:
            self.forget(next(iter(self._files)))

    def _keep(self, path: str, file: File) -> File:
        self._files[path] = file  # now the most recently used one
        if len(self._files) > self.limit:
            self.forget(next(iter(self._files)))
        return file
