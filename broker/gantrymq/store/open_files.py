"""The few files of many that are open: a process may hold far fewer handles than there are queues.

Files are opened when asked for and closed when too many others were asked for since, or when the
process may open no more. Jobs of a `Background` on a file that is closed meanwhile go on.

So the descriptors of a broker grow with the queues that it uses, up to the limit, and stay there.
"""

from __future__ import annotations

from itertools import islice
from typing import Final, final

from gantrymq.base.disk import Disk, DiskError, DiskFailure, File
from gantrymq.base.errors import LocalError

# A quarter of the 1024 descriptors that a process usually may have; connections need the rest.
OPEN_FILES_MAX: Final = 256


@final
class OpenFiles:
    """Handles by path, the longest unused first."""

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
        """The file, to be used before the next one is asked for."""
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
        """A new file of this size, all zeros, in place of what a failed attempt may have left."""
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
        """No such file any more, whether there was one or not."""
        self.forget(path)
        try:
            self.disk.remove(path)
        except DiskError as error:
            if error.failure is not DiskFailure.NOT_FOUND:
                raise

    def forget(self, path: str) -> None:
        """Close this one, before it is removed."""
        file = self._files.pop(path, None)
        if file is not None:
            file.close()

    def close(self) -> None:
        while self._files:
            self.forget(next(iter(self._files)))

    def _keep(self, path: str, file: File) -> File:
        self._files[path] = file  # the last of the row, whoever it was
        if len(self._files) > self.limit:
            self.forget(next(iter(self._files)))
        return file
