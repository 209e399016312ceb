"""A process's claim to a store's directory, while the store is open and after it was not closed.

    lock     locked by the process that has the store open; its content is Java's, as its name is
    abort    there from the start to a clean stop: who finds it repairs what a crash left

Invariant. `abort` is durable before anything else is changed, and goes after everything else is.
"""

from __future__ import annotations

import contextlib
from typing import final

from gantrymq.base.disk import Disk, DiskError
from gantrymq.store.layout import ABORT, COMMIT_LOG, LOCK, StoreRefusedError
from gantrymq.store.settings import StoreSettings


@final
class Claim:
    """To one directory; nothing is touched before `take`."""

    __slots__ = ("_disk", "is_clean")

    def __init__(self, disk: Disk) -> None:
        self._disk: Disk = disk
        self.is_clean: bool = False
        """Whether the last process stopped cleanly."""

    def take(self, settings: StoreSettings) -> None:
        """StoreRefusedError: another log is meant; DiskError of LOCKED: another process is here."""
        _refuse_another_log(settings)
        disk = self._disk
        self._lock()
        self.is_clean = not any(entry.name == ABORT for entry in disk.list(""))
        if self.is_clean:
            disk.create(ABORT).close()
            disk.sync_folder("")

    def _lock(self) -> None:
        """Java locks the file's first byte too, and writes this into it."""
        self._disk.lock(LOCK)
        file = self._disk.open(LOCK)
        if not file.size():
            file.write(0, [LOCK.encode()])
        file.close()

    def forget(self) -> None:
        """Nothing was changed: the directory is as clean as it was."""
        if self.is_clean:
            with contextlib.suppress(DiskError):
                self.leave()

    def leave(self) -> None:
        """Everything is on disk, and the next start has nothing to repair."""
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
