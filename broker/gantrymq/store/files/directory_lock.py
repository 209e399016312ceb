"""Locks a store's directory for one process, and records whether the store was closed cleanly.

    lock     locked while a process has the store open; name and content are Java's
    abort    exists from the start to a clean stop: if it exists at a start, recovery is needed

Invariant. `abort` is synced before anything else is changed, and removed after everything else.
"""

from __future__ import annotations

import contextlib
from typing import final

from gantrymq.base.disk import Disk, DiskError
from gantrymq.store.layout import ABORT, COMMIT_LOG, LOCK, StoreRefusedError
from gantrymq.store.settings import StoreSettings


@final
class DirectoryLock:
    """The lock of one store's directory. Nothing is touched before `take`."""

    __slots__ = ("_disk", "is_clean")

    def __init__(self, disk: Disk) -> None:
        self._disk: Disk = disk
        self.is_clean: bool = False
        """Whether the previous process stopped cleanly."""

    def take(self, settings: StoreSettings) -> None:
        """Lock the directory. StoreRefusedError if storePathCommitLog is elsewhere; DiskError
        LOCKED if another process has the store open."""
        _refuse_another_log(settings)
        disk = self._disk
        self._lock()
        self.is_clean = not any(entry.name == ABORT for entry in disk.list(""))
        if self.is_clean:
            disk.create(ABORT).close()
            disk.sync_folder("")

    def _lock(self) -> None:
        """Lock as Java does: the file's first byte. Java also writes this content."""
        self._disk.lock(LOCK)
        file = self._disk.open(LOCK)
        if not file.size():
            file.write(0, [LOCK.encode()])
        file.close()

    def forget(self) -> None:
        """Remove `abort` if the previous stop was clean: nothing was changed since."""
        if self.is_clean:
            with contextlib.suppress(DiskError):
                self.leave()

    def leave(self) -> None:
        """Remove `abort`: everything is on disk, and the next start has nothing to recover."""
        self._disk.remove(ABORT)
        self._disk.sync_folder("")


def _refuse_another_log(settings: StoreSettings) -> None:
    log, root = settings.store_path_commit_log, settings.store_path_root_dir
    here = f"{root.rstrip('/')}/{COMMIT_LOG}"
    if log and log.rstrip("/") != here:
        raise StoreRefusedError(
            f"storePathCommitLog={log}: this store looks for its log in {here}; make that a "
            f"link, ln -s {log} {here}, and leave the key out"
        )
