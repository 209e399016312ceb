"""Maps topic and key to log positions, in index files that are filled one after the other.

Invariants: only the newest file is filled. Files are named and ordered by creation time. Entries
follow the log: a record before the newest entry's record is in the index already, so dispatching a
part of the log again changes nothing, except that the record *at* the newest entry's position is
entered once more. A caller must therefore accept duplicate positions, and records whose key merely
has the same hash.

`put` does no I/O and cannot fail. A later refusal by the disk is kept in `failure`, and keys are
buffered in memory up to a bound. Beyond it, and after a failed sync, keys are dropped and counted
in `missed`; the next start enters them from the log. index_flush.py decides when entries are
synced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from librt.strings import read_i32_be
from mypy_extensions import i64

from gantrymq.base.disk import Disk, DiskError, File
from gantrymq.base.errors import CorruptionError
from gantrymq.store.files.open_files import OpenFiles
from gantrymq.store.index.index_file import IndexFile, IndexSizes
from gantrymq.store.layout import INDEX
from gantrymq.wire import java_string

OPEN_FILES_MAX: Final = 16

# Entries are written in pieces of this size, without waiting for a flush.
WRITE_BYTES: Final = 64 << 10
# The bound of the buffer while the disk refuses entries: 400 000 keys.
UNWRITTEN_BYTES_MAX: Final = 8 << 20

# How many topics have their part of the hash cached.
TOPICS_MAX: Final = 10_000


def extend_hash(seed: i64, text: bytes) -> i64:
    """Java's string hash, as unsigned 32 bits, of a text with hash `seed` followed by this
    UTF-8."""
    result: i64 = seed
    length: i64 = len(text)
    position: i64 = 0
    while position + 4 <= length:  # four at a time: by 31 to the fourth, third, second, first
        four: i64 = i64(read_i32_be(text, position))
        if four & 0x80808080:
            return _extend_by_units(seed, text)
        result = result * 923521 + (four >> 24) * 29791 + (four >> 16 & 0xFF) * 961
        result = (result + (four >> 8 & 0xFF) * 31 + (four & 0xFF)) & 0xFFFFFFFF
        position += 4
    while position < length:
        byte: i64 = text[position]
        if byte >= 0x80:
            return _extend_by_units(seed, text)
        result = (result * 31 + byte) & 0xFFFFFFFF
        position += 1
    return result


def _extend_by_units(seed: i64, text: bytes) -> i64:
    """The same as `extend_hash`, for text that is not ASCII."""
    result: i64 = seed
    units = java_string.utf8_text(text).encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        result = (result * 31 + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    return result


def positive(hash_code: i64) -> i64:
    """Java's way to make an index hash positive: its absolute value, or 0 if there is none."""
    if hash_code < 0x80000000:
        return hash_code
    return 0 if hash_code == 0x80000000 else 0x100000000 - hash_code


@final
class Index:
    """The index of one store, with its files, oldest first. `new_name` returns the local time as
    yyyyMMddHHmmssSSS."""

    __slots__ = (
        "_folder",
        "_handles",
        "_seeds",
        "_sizes",
        "failure",
        "faults",
        "files",
        "is_broken",
        "missed",
        "new_name",
        "unwritten_bytes_max",
        "was_cut",
        "write_bytes",
    )

    def __init__(
        self, disk: Disk, sizes: IndexSizes, new_name: Callable[[], str], folder: str = INDEX
    ) -> None:
        self._handles: OpenFiles = OpenFiles(disk, OPEN_FILES_MAX)
        self._folder: str = folder
        self._sizes: IndexSizes = sizes
        self._seeds: dict[bytes, int] = {}
        self.write_bytes: i64 = WRITE_BYTES
        self.unwritten_bytes_max: i64 = UNWRITTEN_BYTES_MAX
        self.new_name: Callable[[], str] = new_name
        self.files: list[IndexFile] = []
        self.faults: list[str] = []
        self.failure: DiskError | None = None
        self.is_broken: bool = False
        self.missed: int = 0
        self.was_cut: bool = False
        """Whether files were removed at the load; their keys must be entered again."""

    def load(
        self,
        *,
        is_clean: bool,
        flushed_ms: int,
        trusts_headers: bool = False,
        on_loss: Callable[[], None] | None = None,
    ) -> None:
        """Open the files. After a crash, files with entries newer than the checkpoint's
        `flushed_ms` are deleted, as Java does. If the last writer kept our order of writes
        (`trusts_headers`), only files with a torn header are deleted. Dispatching the log from
        `end_offset` restores the missing keys. `on_loss` is called before files are deleted."""
        self.faults.clear()
        disk = self._handles.disk
        disk.make_folder(self._folder)
        disk.sync_folder(self._folder.rpartition("/")[0])
        is_behind_loss = False
        lost: list[IndexFile] = []
        for entry in disk.list(self._folder):
            if entry.is_folder or not (entry.name.isascii() and entry.name.isdigit()):
                self.faults.append(f"{self._folder}/{entry.name} is no index file; move it away")
                continue
            file = IndexFile(self._handles, self._folder, entry.name, self._sizes)
            is_kept = self._has_header(file) and (
                is_clean or (file.is_whole() if trusts_headers else file.end_ms <= flushed_ms)
            )
            if is_kept and (is_clean or not is_behind_loss):
                if not is_clean:
                    file.save_header()
                self.files.append(file)
            elif not is_clean:
                lost.append(file)
            # A new file is created when the one before is full. If that does not look full, its
            # newer header was lost.
            is_behind_loss = is_behind_loss or not is_kept or not file.is_full
        self._lose(lost, on_loss)
        self.was_cut = bool(lost)
        self._open_newest()

    @property
    def end_offset(self) -> int:
        """The log position of the newest entry's record; 0 if there is none."""
        return self.files[-1].end_offset if self.files else 0

    @property
    def full_ms(self) -> int:
        """The store time of the newest record in a file that is full and synced."""
        return max(
            [file.end_ms for file in self.files if file.is_full and file.pages is None], default=0
        )

    @property
    def end_ms(self) -> int:
        """The store time of the newest entry's record."""
        return self.files[-1].end_ms if self.files else 0

    def put(
        self, topic: bytes, unique_key: bytes, keys: bytes, physical_offset: i64, store_ms: i64
    ) -> None:
        """Enter a record's keys: UNIQ_KEY and KEYS as stored; each may be empty.

        Rolled back transactions must not be entered.
        """
        if self.files and physical_offset < self.files[-1].end_offset:
            return
        seed = self._seed(topic)
        if unique_key:
            self._enter(positive(extend_hash(seed, unique_key)), physical_offset, store_ms)
        if keys:
            for key in keys.split(b" "):
                if key:
                    self._enter(positive(extend_hash(seed, key)), physical_offset, store_ms)

    def key_hash(self, topic: bytes, key: bytes) -> int:
        return positive(extend_hash(self._seed(topic), key))

    @property
    def has_much(self) -> bool:
        """Whether there are enough entries to write them ahead of the flush."""
        return bool(self.files) and len(self.files[-1].tail) >= self.write_bytes

    def write_entries(self) -> None:
        """Write entries ahead of the flush if there are many. Called once a turn."""
        if self.has_much:
            self.attempt(self.files[-1].write_entries)

    def unsafe(self) -> list[IndexFile]:
        """The files that have unsynced changes, oldest first."""
        return [file for file in self.files if file.count != file.saved_count or file.dirty]

    def attempt(self, write: Callable[[], None]) -> bool:
        """Call `write`; whether it succeeded. A DiskError is kept in `failure` until a write
        succeeds."""
        try:
            write()
        except DiskError as error:
            self.failure = error
            return False
        self.failure = None
        return True

    def stop(self, error: DiskError) -> None:
        """Stop writing, because a sync failed."""
        self.failure = error
        self.is_broken = True

    def expired_file(self, log_minimum: int) -> str:
        """The path of the oldest file if the log has none of its records any more, else "".

        The file no longer belongs to the index, and the caller must remove it. The newest always
        stays.
        """
        if len(self.files) < 2 or self.files[0].end_offset >= log_minimum:
            return ""
        file = self.files[0]
        if file.saved_count != file.count:
            return ""
        self.files.pop(0)
        self._handles.forget(file.path)
        return file.path

    def cut(self, log_end: int, on_loss: Callable[[], None] | None = None) -> bool:
        """Remove the files that name records behind the end of the log; whether there were any.
        `on_loss` is called before, when `end_offset` is that of the remaining files."""
        newer = [file for file in self.files if file.count > 1 and file.end_offset >= log_end]
        self.files = [file for file in self.files if file not in newer]
        self._lose(newer, on_loss)
        self._open_newest()
        return bool(newer)

    def clear(self) -> None:
        """Remove every file, to be rebuilt from the log."""
        self._remove(self.files)
        self.files = []

    def file(self, path: str) -> File:
        """The file at this path, to read from."""
        return self._handles.get(path)

    def close(self) -> None:
        """Close the files; nothing is written."""
        self._handles.close()

    def _open_newest(self) -> None:
        """Load the slots of the newest file into memory if it is not full, to continue filling
        it."""
        if self.files and not self.files[-1].is_full and self.files[-1].pages is None:
            self.files[-1].load_pages()

    def _has_header(self, file: IndexFile) -> bool:
        try:
            file.load_header()
        except CorruptionError as error:
            self.faults.append(str(error))
            return False
        return True

    def _lose(self, files: list[IndexFile], on_loss: Callable[[], None] | None) -> None:
        if files and on_loss is not None:
            on_loss()
        self._remove(files)

    def _remove(self, files: list[IndexFile]) -> None:
        """Remove files, the newest first, and sync each removal: so a crash never leaves a file
        without those before it."""
        for file in reversed(files):
            self._handles.remove(file.path)
            self._handles.disk.sync_folder(self._folder)

    def _enter(self, key_hash: i64, physical_offset: i64, store_ms: i64) -> None:
        file = self.files[-1] if self.files else self._roll()
        if self.missed or self.is_broken or len(file.tail) >= self.unwritten_bytes_max:
            self.missed += 1
            return
        if file.is_full:
            file = self._roll()
        file.put(key_hash, physical_offset, store_ms)

    def _roll(self) -> IndexFile:
        """Add a new file. Its name is newer than all others, even if the clock was set back."""
        name = self.new_name()
        before = self.files[-1] if self.files else None
        if before is not None and name <= before.name:
            name = str(int(before.name) + 1)
        file = IndexFile(self._handles, self._folder, name, self._sizes)
        if before is not None:
            file.begin_ms = file.end_ms = before.end_ms
            file.begin_offset = file.end_offset = before.end_offset
        self.files.append(file)
        return file

    def _seed(self, topic: bytes) -> int:
        seed = self._seeds.get(topic)
        if seed is None:
            if len(self._seeds) >= TOPICS_MAX:
                self._seeds.clear()
            seed = self._seeds[topic] = extend_hash(0, topic + b"#")
        return seed
