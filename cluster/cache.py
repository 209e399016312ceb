"""Bounds the cache: of each kind of file, the newest versions stay."""

from __future__ import annotations

import shutil
from pathlib import Path

VERSIONS_KEPT = 3  # checkouts of different versions on one machine; binaries take 250 MB each


def prune(folder: Path, pattern: str) -> None:
    """Removes all but the newest of the files or folders that match."""
    by_age = sorted(folder.glob(pattern), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in by_age[VERSIONS_KEPT:]:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
