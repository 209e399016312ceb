"""Implements the disk port of `gantrymq.base.disk` on a folder of the file system.

Every path is opened relative to the root folder's descriptor and cannot leave it by `..`. Symbolic
links are followed, because operators use them to put the log on a disk of its own. No file is
mapped into memory: an I/O error is a `DiskError`, never a signal.

A disk opened read-only creates nothing, opens nothing for writing and takes no lock: it is for
mounts and users without write permission. An operation that would change something raises
`LocalError`.

The lock is an open file description lock on the byte range [0, 1). It excludes Java's lock on the
same range and a second store in this process. Unlike a classic record lock, it is not dropped when
another descriptor of the file is closed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final, final

from gantrymq.base.disk import DiskError, DiskFailure, Entry, Usage, path_parts
from gantrymq.base.errors import LocalError
from gantrymq.runtime.storage.descriptors import RESERVE
from gantrymq.runtime.storage.disk_errors import (
    disk_error,
    failed,
    mapped_errors,
    refuse_negative,
    refuse_root,
)

FILE_MODE: Final = 0o644
FOLDER_MODE: Final = 0o755
PIECES_MAX: Final = os.sysconf("SC_IOV_MAX")  # the most pieces that one pwritev takes

# A step of a long job holds locks of the file system, and other appends wait for them.
ALLOCATE_STEP_BYTES: Final = 16 << 20
REMOVE_STEP_BYTES: Final = 64 << 20

# `read_cached` reads into an existing buffer: to make a zeroed one for each read takes a third of
# the read's time. Few reads are longer than this.
SCRATCH_BYTES: Final = 1 << 18

# struct flock of 64-bit Linux: type, whence, start, length, process (must be 0 for this lock)
_FLOCK: Final = struct.Struct("hhqqixxxx")
_FIRST_BYTE: Final = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)


@final
class _Scratch(threading.local):
    """A buffer for each thread: a read releases the interpreter lock while the system fills it."""

    def __init__(self) -> None:
        self.view = memoryview(bytearray(SCRATCH_BYTES))


_scratch: Final = _Scratch()


@final
class FolderFile:
    """An open file of a `FolderDisk`."""

    __slots__ = ("_descriptor", "_has_nowait", "_is_read_only", "_path", "_root")

    def __init__(self, root: Path, path: str, descriptor: int, *, is_read_only: bool) -> None:
        self._root = root
        self._path = path
        self._descriptor = descriptor
        self._is_read_only = is_read_only
        self._has_nowait = True  # until the file system reports that it is not supported

    @property
    def path(self) -> str:
        return self._path

    def fileno(self) -> int:
        """The open descriptor."""
        if self._descriptor < 0:
            raise LocalError(f"{self._path} is closed")
        return self._descriptor

    def _writable(self) -> int:
        if self._is_read_only:
            raise LocalError(f"{self._root / self._path} is opened to be read only")
        return self._descriptor if self._descriptor >= 0 else self.fileno()

    def duplicate(self) -> FolderFile:
        """Open another handle of the same file, which is closed separately."""
        with mapped_errors("duplicate", self._root, self._path):
            descriptor = RESERVE.open(partial(os.dup, self.fileno()))
        is_read_only = self._is_read_only
        return FolderFile(self._root, self._path, descriptor, is_read_only=is_read_only)

    def size(self) -> int:
        with mapped_errors("size", self._root, self._path):
            return os.fstat(self.fileno()).st_size

    def write(self, position: int, pieces: Sequence[bytes]) -> None:
        descriptor = self._writable()
        if position < 0:
            refuse_negative(position)
        missing = len(pieces[0]) if len(pieces) == 1 else sum(map(len, pieces))
        try:
            # Nearly always this one call writes everything.
            if missing and len(pieces) <= PIECES_MAX:
                written = os.pwritev(descriptor, pieces, position)
                if written == missing:
                    return
                self._write_rest(position + written, b"".join(pieces)[written:])
            elif missing:
                self._write_rest(position, b"".join(pieces))
        except OSError as error:
            raise disk_error(error, "write", self._path, self._root) from error

    def read(self, position: int, size: int) -> bytes:
        descriptor = self.fileno()
        refuse_negative(position, size)
        try:
            data = os.pread(descriptor, size, position)
            while data and len(data) < size:
                more = os.pread(descriptor, size - len(data), position + len(data))
                if not more:
                    break
                data += more
        except OSError as error:
            raise disk_error(error, "read", self._path, self._root) from error
        return data

    def read_cached(self, position: int, size: int) -> bytes | None:
        descriptor = self.fileno()
        refuse_negative(position, size)
        if not self._has_nowait:
            return None
        buffer = _scratch.view[:size] if size <= SCRATCH_BYTES else memoryview(bytearray(size))
        try:
            count = os.preadv(descriptor, [buffer], position, os.RWF_NOWAIT)
            # A short read ends at the end of the file, or at the end of what is cached.
            if count < size and position + count < os.fstat(descriptor).st_size:
                return None
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno == errno.EOPNOTSUPP:
                self._has_nowait = False
                return None
            raise disk_error(error, "read", self._path, self._root) from error
        return bytes(buffer[:count])

    def allocate(self, position: int, size: int) -> None:
        """Allocate in steps. No other writer may extend the file meanwhile."""
        descriptor = self._writable()
        refuse_negative(position, size)
        with mapped_errors("allocate", self._root, self._path):
            size_before = os.fstat(descriptor).st_size
            try:
                for start in range(position, position + size, ALLOCATE_STEP_BYTES):
                    step = min(ALLOCATE_STEP_BYTES, position + size - start)
                    os.posix_fallocate(descriptor, start, step)
            except OSError:
                os.ftruncate(descriptor, size_before)
                raise

    def resize(self, size: int) -> None:
        refuse_negative(size)
        with mapped_errors("resize", self._root, self._path):
            os.ftruncate(self._writable(), size)

    def sync(self) -> None:
        # fdatasync covers the size and the extents; only the file's times may be old.
        with mapped_errors("sync", self._root, self._path):
            os.fdatasync(self.fileno())

    def forget_cached(self, position: int, size: int) -> None:
        refuse_negative(position, size)
        if size:  # the system reads 0 as "to the end of the file"
            with mapped_errors("forget_cached", self._root, self._path):
                os.posix_fadvise(self.fileno(), position, size, os.POSIX_FADV_DONTNEED)

    def close(self) -> None:
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            _close(descriptor)

    def _write_rest(self, position: int, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            written = os.pwrite(self._descriptor, rest, position)
            if not written:
                raise OSError(errno.EIO, "the system wrote nothing and said nothing")
            position += written
            rest = rest[written:]


@final
class FolderDisk:
    """A folder of the file system as a disk. Unless read-only, the folder is created if missing."""

    __slots__ = ("_is_read_only", "_locks", "_root", "_root_path")

    def __init__(self, root: Path, *, is_read_only: bool = False) -> None:
        self._is_read_only = is_read_only
        self._root_path = root
        self._locks: list[int] = []
        with self.mapped_errors("open", ""):
            if not is_read_only:
                root.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def supports_nowait(self, folder: str) -> bool:
        """Whether `read_cached` can work in this folder; tries it on a nameless file.

        Overlayfs, tmpfs and NFS cannot tell what is cached: there `read_cached` always returns
        None.
        """
        with self.mapped_errors("open", folder):
            descriptor = self._open_folder(folder)
        try:
            return _probe_nowait(descriptor)
        finally:
            os.close(descriptor)

    def open(self, path: str) -> FolderFile:
        return self._open("open", path, os.O_RDONLY if self._is_read_only else os.O_RDWR)

    def create(self, path: str) -> FolderFile:
        self._refuse_read_only("create", path)
        return self._open("create", path, os.O_RDWR | os.O_CREAT | os.O_EXCL)

    def list(self, folder: str) -> Sequence[Entry]:
        with self.mapped_errors("list", folder):
            try:
                descriptor = self._open_folder(folder)
            except (FileNotFoundError, NotADirectoryError):
                return []
            try:
                with os.scandir(descriptor) as found:
                    entries = [entry for name in found if (entry := _entry(name)) is not None]
            finally:
                os.close(descriptor)
        return sorted(entries, key=lambda entry: entry.name)

    def make_folder(self, folder: str) -> None:
        self._refuse_read_only("make_folder", folder)
        parts = path_parts(folder)
        with self.mapped_errors("make_folder", folder):
            for count in range(1, len(parts) + 1):
                with contextlib.suppress(FileExistsError):
                    os.mkdir("/".join(parts[:count]), FOLDER_MODE, dir_fd=self._root)
            try:
                os.close(self._open_folder(folder))
            except NotADirectoryError as error:
                raise FileExistsError(errno.EEXIST, "a file has this name") from error

    def rename(self, old: str, new: str) -> None:
        self._refuse_read_only("rename", old)
        refuse_root("rename", old, new)
        with self.mapped_errors("rename", old):
            os.rename(old, new, src_dir_fd=self._root, dst_dir_fd=self._root)

    def remove(self, path: str) -> None:
        self._refuse_read_only("remove", path)
        refuse_root("remove", path)
        with self.mapped_errors("remove", path):
            try:
                os.unlink(path, dir_fd=self._root)
            except IsADirectoryError:
                os.rmdir(path, dir_fd=self._root)

    def remove_gradually(self, path: str) -> None:
        """Remove a file durably and release its bytes in steps.

        The name is removed first, on disk too: a crash leaves the whole file or none of it.
        """
        file = self.open(path)
        try:
            size = file.size()
            self.remove(path)
            self.sync_folder(path.rpartition("/")[0])
            while size > 0:
                size = max(0, size - REMOVE_STEP_BYTES)
                file.resize(size)
        finally:
            file.close()

    def sync_folder(self, folder: str) -> None:
        with self.mapped_errors("sync_folder", folder):
            descriptor = self._open_folder(folder)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def usage(self, folder: str) -> Usage:
        with self.mapped_errors("usage", folder):
            descriptor = self._open_folder(folder)
            try:
                figures = os.statvfs(descriptor)
            finally:
                os.close(descriptor)
        # As in df, space that is reserved for root is neither usable nor free.
        reserved = figures.f_bfree - figures.f_bavail
        usable, block_bytes = figures.f_blocks - reserved, figures.f_frsize
        return Usage(usable * block_bytes, figures.f_bavail * block_bytes, reserved * block_bytes)

    def lock(self, path: str) -> None:
        self._refuse_read_only("lock", path)
        descriptor = self._open("lock", path, os.O_RDWR | os.O_CREAT).fileno()
        try:
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _FIRST_BYTE)
        except OSError as error:
            os.close(descriptor)
            if error.errno in {errno.EAGAIN, errno.EACCES}:
                root, words = self._root_path, DiskFailure.LOCKED.value
                raise failed(DiskFailure.LOCKED, "lock", path, root, words) from error
            raise disk_error(error, "lock", path, self._root_path) from error
        self._locks.append(descriptor)

    def is_locked(self, path: str) -> bool:
        """Whether any process holds this lock. Neither creates nor takes it."""
        try:
            file = self._open("is_locked", path, os.O_RDONLY)
        except DiskError as error:
            if error.failure is not DiskFailure.NOT_FOUND:
                raise
            return False
        try:
            with self.mapped_errors("is_locked", path):
                holder = fcntl.fcntl(file.fileno(), fcntl.F_OFD_GETLK, _FIRST_BYTE)
        finally:
            file.close()
        kind: int = _FLOCK.unpack(holder)[0]
        return kind != fcntl.F_UNLCK

    def close(self) -> None:
        """Release the locks; open files stay open."""
        for descriptor in [*self._locks, self._root]:
            _close(descriptor)
        self._locks.clear()
        self._root = -1

    def _open(self, operation: str, path: str, flags: int) -> FolderFile:
        refuse_root(operation, path)
        opens = partial(os.open, path, flags | os.O_CLOEXEC, FILE_MODE, dir_fd=self._root)
        with self.mapped_errors(operation, path):
            descriptor = RESERVE.open(opens) if flags & os.O_CREAT else opens()
        is_read_only = not flags & os.O_RDWR
        return FolderFile(self._root_path, path, descriptor, is_read_only=is_read_only)

    def mapped_errors(self, operation: str, path: str) -> contextlib.AbstractContextManager[None]:
        return mapped_errors(operation, self._root_path, path)

    def _refuse_read_only(self, operation: str, path: str) -> None:
        if self._is_read_only:
            place = self._root_path / path
            raise LocalError(f"{operation} {place}: the disk is opened to be read only")

    def _open_folder(self, folder: str) -> int:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        path = "/".join(path_parts(folder)) or "."
        return RESERVE.open(partial(os.open, path, flags, dir_fd=self._root))


def _close(descriptor: int) -> None:
    # close() releases the descriptor even if it fails, and `sync` reports failed writes.
    with contextlib.suppress(OSError):
        os.close(descriptor)


def _probe_nowait(folder: int) -> bool:
    try:
        # A file system without nameless files does not support RWF_NOWAIT either.
        descriptor = os.open(".", os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return False
    try:
        os.preadv(descriptor, [bytearray(1)], 0, os.RWF_NOWAIT)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _entry(found: os.DirEntry[str]) -> Entry | None:
    try:
        status = found.stat()
        is_folder = found.is_dir()
    except FileNotFoundError:  # removed meanwhile, or a dangling link
        return None
    size = 0 if is_folder else status.st_size
    return Entry(found.name, is_folder, size, status.st_mtime_ns // 1_000_000)
