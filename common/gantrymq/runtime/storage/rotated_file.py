"""Appends lines to a file and rotates it by size.

    audit.log         the newest lines
    audit.log.1       the lines before, and so on up to audit.log.<files - 1>

Invariants: together the files take at most `files` times `bytes_max`, and one batch more. A line
that a full disk cut short is ended before the next one begins, so at most that line is damaged.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import final

# The file says which account did what: only the server's own account may read it.
_MODE = 0o600


@final
@dataclass(frozen=True, slots=True)
class Rotation:
    """The maximal size of a file, and the number of files."""

    bytes_max: int
    files: int


@final
class RotatedFile:
    """Used by one thread at a time. Opened at the first append, and again after each failure."""

    __slots__ = ("_descriptor", "_is_cut", "_path", "_rotation", "_size")

    def __init__(self, path: Path, rotation: Rotation) -> None:
        self._path = path
        self._rotation = rotation
        self._descriptor = -1
        self._size = 0
        self._is_cut = False
        """Whether the file may end in the middle of a line."""

    def append(self, lines: bytes) -> None:
        """Write whole lines durably; after an OSError they may be missing or incomplete."""
        try:
            self._open()
            if self._size and self._size + len(lines) > self._rotation.bytes_max:
                self._rotate()
            self._write(b"\n" + lines if self._is_cut else lines)
            os.fdatasync(self._descriptor)
        except OSError:
            self.close()
            raise

    def _open(self) -> None:
        if self._descriptor >= 0:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._descriptor = os.open(self._path, flags, _MODE)
        self._size = os.fstat(self._descriptor).st_size
        last = os.pread(self._descriptor, 1, self._size - 1) if self._size else b"\n"
        self._is_cut = last != b"\n"

    def _write(self, data: bytes) -> None:
        while data:
            written = os.write(self._descriptor, data)
            self._size += written
            data = data[written:]
        self._is_cut = False

    def _rotate(self) -> None:
        self.close()
        for number in range(self._rotation.files - 2, 0, -1):
            older = self._numbered(number)
            if older.exists():
                older.replace(self._numbered(number + 1))
        if self._rotation.files > 1:
            self._path.replace(self._numbered(1))
        else:
            self._path.unlink()
        self._open()

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
