"""Provides a sequence of fixed-length files, addressed by absolute position.

    first              position                reserved            past
      |  file  |  file  |  file ....written....|....allocated....|..|
                                               '-- at least a window ahead --'

Invariants. The files reach from `first` to `past` without a gap, whenever the machine stops. A file
is created at the end, with its length, and its name is synced before the next file is created.
Files are removed one at a time, the oldest from the front, the newest from the end, and each
removal is synced before the next. Nothing is written at or above `reserved`, below which every byte
has disk space: so a full disk is reported by `reserve`, and never interrupts a write.

`Background` reserves space in windows, ahead of the position written to. If it is too late,
`reserve` allocates a smaller step inline and counts that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, final

from gantrymq.base.disk import Background, Completion, Disk, DiskError, DiskFailure, File
from gantrymq.base.errors import GantryError, LocalError
from gantrymq.store.files.open_files import OpenFiles
from gantrymq.store.layout import check_row, file_name

# Enough for seconds of the heaviest load, and small on the smallest volume.
WINDOW_BYTES: Final = 64 << 20

# An inline allocation delays a turn: the step is small, yet large enough for many groups.
STEP_BYTES: Final = 1 << 20

# Asking a full disk costs the file system more than a refusal here. Space comes back by deletion,
# which takes longer than this.
FULL_RETRY_SECONDS: Final = 0.25

CHUNK_BYTES: Final = 1 << 20
_ZEROS: Final = bytes(CHUNK_BYTES)


class SyncFailedError(GantryError):
    """A sync failed. It is unknown what is on disk, nothing more may be promised, and the process
    must end."""

    def __init__(self, error: DiskError) -> None:
        super().__init__(
            f"{error}; what of it is on disk is unknown, so this process must end: look at the "
            "device and the system's log before it is started again"
        )
        self.cause = error


@final
class Segments:
    """The files of one folder. `load` opens it, then `resume` sets where writing continues."""

    __slots__ = (
        "_background",
        "_disk",
        "_files",
        "_full",
        "_key",
        "_path",
        "_path_start",
        "_removal_ticket",
        "_retry_at",
        "_window_bytes",
        "_window_end",
        "_window_ticket",
        "file_bytes",
        "first",
        "folder",
        "inline_allocations",
        "past",
        "reserved",
    )

    def __init__(
        self,
        disk: Disk,
        background: Background,
        folder: str,
        file_bytes: int,
        key: str,
        *,
        window_bytes: int = WINDOW_BYTES,
    ) -> None:
        self._disk = disk
        self._background = background
        self._files = OpenFiles(disk)
        self._key = key
        self._path = ""
        self._path_start = -1
        self._window_bytes = min(window_bytes, file_bytes)
        self._window_ticket = 0
        self._window_end = 0
        self._removal_ticket = 0
        self._retry_at = 0.0
        self._full: DiskError | None = None
        self.folder = folder
        self.file_bytes = file_bytes
        self.first = 0
        self.past = 0
        self.reserved = 0
        self.inline_allocations = 0

    def load(self, *, is_size_known: bool = False) -> None:
        """List and check the folder's files; StoreRefusedError if they cannot be used as they
        are."""
        self._disk.make_folder(self.folder)
        self._sync_folder(self.folder.rpartition("/")[0])
        # The previous process may have been killed between a removal and its sync. If that file
        # comes back behind one that was cut or removed since, the sequence cannot be used.
        self._sync_folder(self.folder)
        row = check_row(
            self.folder,
            self._disk.list(self.folder),
            self.file_bytes,
            self._key,
            is_size_known=is_size_known,
        )
        if row.short:
            file = self._files.get(row.short)
            file.resize(self.file_bytes)
            self._sync(file)
        if row.empty:
            self._disk.remove(row.empty)
            self._sync_folder(self.folder)
        self.first, self.past = row.first, row.past
        self.reserved = self.first

    def resume(self, position: int) -> None:
        """Continue writing here. Without a file, the first one will begin at or below this
        position."""
        if self.first == self.past:
            self.place(self.start_of(position))
        if not self.first <= position <= max(self.past, self.first + self.file_bytes - 1):
            raise LocalError(f"{position} is not in {self.folder}: {self.first} to {self.past}")
        self.reserved = min(position, self.past)

    def place(self, position: int) -> None:
        """Set the start of the first file. There must be no file yet."""
        assert self.first == self.past and position == self.start_of(position)  # noqa: PT018 - one row
        self.first = self.past = self.reserved = position

    def start_of(self, position: int) -> int:
        """The start of the file that contains this position."""
        return position - position % self.file_bytes

    def path_of(self, position: int) -> str:
        start = self.start_of(position)
        if start != self._path_start:  # mostly it is the file that is written to
            self._path = f"{self.folder}/{file_name(start)}"
            self._path_start = start
        return self._path

    def file_of(self, position: int) -> File:
        """The file that contains this position, to be used before another one is requested."""
        if not self.first <= position < self.past:
            raise LocalError(f"{position} is not in {self.folder}: {self.first} to {self.past}")
        return self._files.get(self.path_of(position))

    def close(self) -> None:
        self._files.close()

    # ------------------------------------------------------------------ space

    def reserve(self, end: int, now: float) -> None:
        """Allocate space for every byte below `end`. After a DiskError the bytes written are
        intact."""
        while self.reserved < end:
            if self._full is not None and now < self._retry_at:
                raise self._full
            try:
                size = self._next_step(STEP_BYTES)
                file = self.file_of(self.reserved)
                file.allocate(self.reserved - self.start_of(self.reserved), size)
            except DiskError as error:
                self._refused(error, now)
                raise
            self.reserved += size
            self.inline_allocations += 1
        self._full = None

    def prepare(self, position: int, now: float) -> None:
        """Reserve the next window in the background, once `position` comes near it."""
        near = self.reserved - position < self._window_bytes
        if self._window_ticket or not near or now < self._retry_at:
            return
        try:
            size = self._next_step(self._window_bytes)
            file = self.file_of(self.reserved)
            offset = self.reserved - self.start_of(self.reserved)
            self._window_ticket = self._background.allocate(file, offset, size)
            self._window_end = self.reserved + size
        except DiskError as error:
            self._refused(error, now)

    def take(self, completion: Completion, now: float) -> bool:
        """Whether the completion is for these files."""
        ticket = completion.ticket
        if ticket == self._window_ticket:
            self._window_ticket = 0
            if completion.error is not None:
                self._refused(completion.error, now)
            elif self._window_end:
                self.reserved = max(self.reserved, self._window_end)
                self._full = None
            return True
        if ticket == self._removal_ticket:
            self._removal_ticket = 0
            if completion.error is not None:
                self._removal_failed(completion.error)
            return True
        return False

    def _removal_failed(self, error: DiskError) -> None:
        """Take the file back if it still exists, for the next one must not be removed before it.
        SyncFailedError if that is unknown."""
        start = self.first - self.file_bytes
        try:
            names = [entry.name for entry in self._disk.list(self.folder)]
        except DiskError as unknown:
            raise SyncFailedError(error) from unknown
        if file_name(start) in names:
            self.first = start
        elif error.failure is not DiskFailure.NOT_FOUND:
            raise SyncFailedError(error) from error

    def _next_step(self, size: int) -> int:
        """The part of `size` that is left in the file at `reserved`, which is created if
        necessary."""
        if self.reserved == self.past:
            # The file's name must be synced before anything in the file counts.
            self._sync(self._files.create(self.path_of(self.past), self.file_bytes))
            self._sync_folder(self.folder)
            self.past += self.file_bytes
        return min(size, self.start_of(self.reserved) + self.file_bytes - self.reserved)

    def _refused(self, error: DiskError, now: float) -> None:
        self._full = error
        self._retry_at = now + FULL_RETRY_SECONDS

    # ------------------------------------------------------------------ bytes

    def write(self, position: int, data: bytes) -> None:
        """Write into one file, into reserved space."""
        start = self.start_of(position)
        end = position + len(data)
        assert end <= self.reserved and end <= start + self.file_bytes  # noqa: PT018 - one range
        self.file_of(position).write(position - start, [data])

    def read(self, position: int, size: int) -> bytes:
        """Read at most to the end of the file; waits for the device."""
        size = self._clip(position, size)
        return self.file_of(position).read(position - self.start_of(position), size)

    def read_cached(self, position: int, size: int) -> bytes | None:
        """The same without waiting; None if that is impossible."""
        size = self._clip(position, size)
        return self.file_of(position).read_cached(position - self.start_of(position), size)

    def ask_read(self, position: int, size: int) -> int:
        """The same in the background; returns the ticket."""
        size = self._clip(position, size)
        file = self.file_of(position)
        return self._background.read(file, position - self.start_of(position), size)

    def ask_sync(self, position: int) -> int:
        """Sync the file that contains this position, in the background; returns the ticket."""
        return self._background.sync(self.file_of(position))

    def _clip(self, position: int, size: int) -> int:
        return min(size, self.start_of(position) + self.file_bytes - position)

    def erase(self, start: int, end: int) -> None:
        """Zero the bytes from `start` to `end`, unless they are zero, and sync that; blocks.

        Afterwards no record that once lay there can be taken for one that follows new ones.
        """
        end = min(end, self.past)
        for position, size in self._chunks(start, end):
            zeros = _ZEROS[:size]
            if self.read(position, size) != zeros:
                self._write_anywhere(position, zeros)
        self.sync(start, end)

    def rewrite(self, start: int, end: int) -> None:
        """Read the bytes, write them again, and sync: so they are on disk, whatever was read;
        blocks."""
        for position, size in self._chunks(start, end):
            self._write_anywhere(position, self.read(position, size))
        self.sync(start, end)

    def sync(self, start: int, end: int) -> None:
        """Sync what was written from `start` to `end`; blocks."""
        while start < end:
            try:
                file = self.file_of(start)
            except DiskError as error:
                raise SyncFailedError(error) from error
            self._sync(file)
            start = self.start_of(start) + self.file_bytes

    def _chunks(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """(position, size) of pieces that lie in one file each."""
        while start < end:
            size = self._clip(start, min(CHUNK_BYTES, end - start))
            yield start, size
            start += size

    def _write_anywhere(self, position: int, data: bytes) -> None:
        """Write also where no space is reserved, as in a sparse file of Java's."""
        file = self.file_of(position)
        offset = position - self.start_of(position)
        file.allocate(offset, len(data))
        file.write(offset, [data])

    def _sync_folder(self, folder: str) -> None:
        try:
            self._disk.sync_folder(folder)
        except DiskError as error:
            raise SyncFailedError(error) from error

    @staticmethod
    def _sync(file: File) -> None:
        try:
            file.sync()
        except DiskError as error:
            raise SyncFailedError(error) from error

    # ------------------------------------------------------------------ ends

    def remove_first(self) -> bool:
        """Begin to remove the oldest file. False if it is the last, or if a removal is under
        way."""
        if self._removal_ticket or self.past - self.first <= self.file_bytes:
            return False
        path = self.path_of(self.first)
        self._files.forget(path)
        self._removal_ticket = self._background.remove(path)
        self.first += self.file_bytes
        return True

    def truncate(self, position: int) -> None:
        """Remove the files at or above this position, and zero the rest of its file; blocks.

        A crash may leave the last file too short: `load` must then be told that the files' size is
        known.
        """
        if not self.first <= position <= self.past:
            raise LocalError(f"{position} is not in {self.folder}: {self.first} to {self.past}")
        kept = max(self.start_of(position + self.file_bytes - 1), self.first)
        while self.past > kept:
            path = self.path_of(self.past - self.file_bytes)
            self._files.forget(path)
            self._disk.remove(path)
            self._sync_folder(self.folder)
            self.past -= self.file_bytes
        if position < self.past:
            file = self.file_of(position)
            file.resize(position - self.start_of(position))
            file.resize(self.file_bytes)
            self._sync(file)
        self._window_end = 0  # a window under way may lie in what was cut
        self.reserved = min(position, self.past)
