"""Watches a file that people edit while a server runs, and passes its new content to the server.

If the content cannot be used, or the file is gone, the server keeps the previous content. The log
reports unusable content; a missing file is not reported, since an editor may remove it briefly.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final, final

from gantrymq.base.errors import GantryError
from gantrymq.runtime.logs import Log

LOOK_SECONDS: Final = 1.0


@final
class WatchedFile:
    """Watches one file. Owns the task that does so: call `watch`, then `stop`."""

    def __init__(
        self,
        path: Path,
        log: Log,
        changed: Callable[[bytes], None],
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        """`changed` receives each new content on the loop, and raises GantryError if it cannot use
        it."""
        self._path = path
        self._log = log
        self._changed = changed
        self._look_seconds = look_seconds
        self._stamp = _stamp_of(path)
        self._task: asyncio.Task[None] | None = None

    def watch(self) -> None:
        """Start; the file's current content counts as known."""
        self._stamp = _stamp_of(self._path)
        self._task = asyncio.get_running_loop().create_task(
            self._watch(), name=f"watch {self._path}"
        )

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._look_seconds)
            stamp = _stamp_of(self._path)
            if stamp == self._stamp or stamp is None:
                continue
            self._stamp = stamp
            try:
                self._changed(await asyncio.to_thread(self._path.read_bytes))
            except (OSError, GantryError) as error:
                self._log.warning(
                    "changed file not used", path=str(self._path), cause_text=str(error)
                )
            else:
                self._log.info("read changed file", path=str(self._path))


def _stamp_of(path: Path) -> tuple[int, int, int] | None:
    """Identifies the file's content; the inode tells when a ConfigMap's link is replaced."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
