"""Stores as files: copied as a crash left them, and dropped from the system's memory."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

LOG = "commitlog"


def copy_store(source: Path, target: Path) -> None:
    """A copy to open: the log's files are shared, everything else keeps its holes.

    An opening changes nothing in a log but what lies above its end, which is the same for all.
    """
    target.mkdir()
    for entry in sorted(source.iterdir()):
        how = ["-al"] if entry.name == LOG else ["-a", "--sparse=always"]
        subprocess.run(["cp", *how, str(entry), str(target / entry.name)], check=True)


def drop_cached(files: Sequence[Path]) -> None:
    """What is read of them next comes from the device."""
    for path in files:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)  # only what is on disk is dropped
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def log_files(store: Path) -> list[Path]:
    """Oldest first."""
    return sorted((store / LOG).iterdir())


def write_segment(path: Path, size: int) -> None:
    """A file like an old segment: every byte written, and on disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    piece = os.urandom(1 << 20)
    with path.open("wb") as file:
        for _ in range(size // len(piece)):
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
