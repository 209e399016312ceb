"""Bounds the size of the cache: the newest versions of each kind of file are kept."""

from __future__ import annotations

import shutil
from pathlib import Path

VERSIONS_KEPT = 3  # checkouts of different versions on one machine; binaries take 250 MB each


def prune(folder: Path, pattern: str) -> None:
    """Remove all files or folders that match, except the newest."""
    by_age = sorted(folder.glob(pattern), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in by_age[VERSIONS_KEPT:]:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
