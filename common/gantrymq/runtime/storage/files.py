"""Replaces configuration files on disk atomically.

    write <name>.<pid>.new, fsync it, rename it over <name>, fsync the directory

A crash at any point leaves the old content or the new. One thread writes in the order of the calls,
so the content of the last call wins even if its caller is cancelled.
"""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, final

from gantrymq.runtime.storage.descriptors import RESERVE

# The mode of a new file; an existing file keeps its mode.
NEW_MODE: Final = 0o644
SECRET_MODE: Final = 0o600


@dataclass(frozen=True, slots=True)
class SaveFailed:
    """The save failed. Before the rename the old content stays; the cause has the system's
    error."""

    path: Path
    cause: str


@final
class FileSaver:
    """Owns the one thread that saves files."""

    __slots__ = ("_thread",)

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="files")

    async def save(self, path: Path, data: bytes, *, is_secret: bool = False) -> SaveFailed | None:
        """Replace the content of `path`; returns None once it is durable.

        If `is_secret`, a new file is readable by its owner only.
        """
        loop = asyncio.get_running_loop()
        save = partial(save_now, path, data, is_secret=is_secret)
        return await loop.run_in_executor(self._thread, save)

    def close(self) -> None:
        """Wait until all requested saves are done; blocks for as long as the disk takes."""
        self._thread.shutdown(wait=True)


def save_now(path: Path, data: bytes, *, is_secret: bool = False) -> SaveFailed | None:
    """Do the same on the calling thread; for start and stop, when no other work waits."""
    try:
        _replace(path, data, SECRET_MODE if is_secret else NEW_MODE)
    except OSError as error:
        return SaveFailed(path, f"{error.strerror or error} ({error.filename or path})")
    except (RuntimeError, ValueError) as error:  # a loop of links, a name with a NUL
        return SaveFailed(path, f"{error} ({path})")
    return None


def _replace(path: Path, data: bytes, new_mode: int) -> None:
    # A mounted ConfigMap and many files in /etc are links; a rename over one would replace it.
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = target.stat().st_mode & 0o777 if target.exists() else new_mode
    temporary = target.with_name(f"{target.name}.{os.getpid()}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    descriptor = RESERVE.open(lambda: os.open(temporary, flags, mode))
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    _sync_directory(target.parent)


def _sync_directory(directory: Path) -> None:
    descriptor = RESERVE.open(lambda: os.open(directory, os.O_RDONLY | os.O_DIRECTORY))
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
