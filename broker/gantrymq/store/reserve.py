"""Space kept for what must still be written when the disk is full.

    gantry/reserve      allocated, never written; what it holds means nothing

Others may fill the disk, too. Messages are refused then, but those acknowledged before have units
that are not written yet, and a stop writes keys and config files. So there is a file that only
takes up space: `give_up` frees it when one of those finds none, and it is taken again when there
is space. Until then no message may be taken (disk_watch.py sees to it), or the log would eat up
what was freed. Keys alone do not use it up while the store runs: the index may fail.

Nothing depends on it: without it, or once it is used up, the dispatch stops and a stop is no clean
one, and what is missing is made from the log at the next start. The file is never synced: one that
a crash has lost is allocated again.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.base.disk import Background, Completion, Disk, DiskError, DiskFailure, File
from gantrymq.store.layout import OWN

PATH: Final = f"{OWN}/reserve"

# What waits in memory at most is 16 MiB of units, and of the index 8 MiB of entries and 20 MB of
# slots; the rest is for config files and for blocks that are filled in part.
RESERVE_BYTES: Final = 64 << 20

# On a small disk less waits, and a hundredth of it is not missed.
DISK_SHARE: Final = 100

# Space comes back by deletion, or by hand: neither is a matter of less than that.
RETRY_SECONDS: Final = 1.0


def free(disk: Disk) -> bool:
    """Whether it takes up no space now."""
    try:
        file = disk.open(PATH)
        try:
            file.resize(0)
        finally:
            file.close()
    except DiskError as error:
        return error.failure is DiskFailure.NOT_FOUND  # freed by hand
    return True


@final
class Reserve:
    """Made without; `open` takes it at a start."""

    __slots__ = ("_background", "_disk", "_next", "_ticket", "is_held")

    def __init__(self, disk: Disk, background: Background) -> None:
        self._disk = disk
        self._background = background
        self._next = float("-inf")
        self._ticket = 0
        self.is_held = False

    def open(self) -> None:
        """Take it, or have it still; on a full disk there is none for now. Blocks."""
        try:
            self._disk.make_folder(OWN)
            file = self._file()
            try:
                file.allocate(0, self._size())
            finally:
                file.close()
        except DiskError:
            return
        self.is_held = True

    def give_up(self) -> bool:
        """Free it; whether that made any space."""
        if not self.is_held:
            return False
        self.is_held = False
        return free(self._disk)

    def turn(self, now: float) -> None:
        """Take it again, once there is space."""
        if self.is_held or self._ticket or now < self._next:
            return
        self._next = now + RETRY_SECONDS
        try:
            size = self._size()
            # With twice as much free, taking it does not fill the disk again.
            if self._disk.usage(OWN).free_bytes >= 2 * size:
                file = self._file()
                self._ticket = self._background.allocate(file, 0, size)
                file.close()
        except DiskError:
            return  # asked again

    def take(self, completion: Completion) -> bool:
        """Whether this ticket was ours."""
        if completion.ticket != self._ticket:
            return False
        self._ticket = 0
        self.is_held = completion.error is None
        return True

    def _size(self) -> int:
        return min(RESERVE_BYTES, self._disk.usage(OWN).total_bytes // DISK_SHARE)

    def _file(self) -> File:
        try:
            return self._disk.create(PATH)
        except DiskError as error:
            if error.failure is not DiskFailure.EXISTS:
                raise
        return self._disk.open(PATH)
