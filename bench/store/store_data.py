"""Copies stores as a crash left them, and drops their files from the page cache."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

LOG = "commitlog"


def copy_store(source: Path, target: Path) -> None:
    """A copy that can be opened: it shares the log's files, and keeps the holes of all other files.

    Opening a store changes the log only behind its end, which is the same for all copies.
    """
    target.mkdir()
    for entry in sorted(source.iterdir()):
        how = ["-al"] if entry.name == LOG else ["-a", "--sparse=always"]
        subprocess.run(["cp", *how, str(entry), str(target / entry.name)], check=True)


def drop_cached(files: Sequence[Path]) -> None:
    """Drop the files from the page cache: the next read comes from the device."""
    for path in files:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)  # only pages that are on disk are dropped
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def log_files(store: Path) -> list[Path]:
    """The files of the log, oldest first."""
    return sorted((store / LOG).iterdir())


def write_segment(path: Path, size: int) -> None:
    """Write a file like an old segment: every byte written, and on disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    piece = os.urandom(1 << 20)
    with path.open("wb") as file:
        for _ in range(size // len(piece)):
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
