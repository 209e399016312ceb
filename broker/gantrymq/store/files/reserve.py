"""Keeps disk space in reserve for what must still be written when the disk is full.

    gantry/reserve      allocated, never written; its content has no meaning

Other programs may fill the disk, too. The store then refuses messages, but those acknowledged
before have units that are not written yet, and a stop writes keys and config files. So there is a
file that only occupies space: `give_up` frees it when one of these writes finds no space, and it is
allocated again when there is space. Until then no message may be accepted (disk_watch.py enforces
that), or the log would use up what was freed. While the store runs, the index does not use the
reserve: it may fail.

Nothing depends on the reserve. Without it, or when it is used up, dispatch stops and a stop is not
clean; the next start makes what is missing from the log. The file is never synced: if a crash loses
it, it is allocated again.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.base.disk import Background, Completion, Disk, DiskError, DiskFailure, File
from gantrymq.store.layout import OWN

PATH: Final = f"{OWN}/reserve"

# At most 16 MiB of units, 8 MiB of index entries and 20 MB of slots wait in memory. The rest is for
# config files and for partly filled blocks.
RESERVE_BYTES: Final = 64 << 20

# On a small disk less data wait, and a hundredth of the disk is affordable.
DISK_SHARE: Final = 100

# Space comes back by deletion, or by an operator: neither takes less time than this.
RETRY_SECONDS: Final = 1.0


def free(disk: Disk) -> bool:
    """Truncate the file; whether it occupies no space now."""
    try:
        file = disk.open(PATH)
        try:
            file.resize(0)
        finally:
            file.close()
    except DiskError as error:
        return error.failure is DiskFailure.NOT_FOUND  # an operator removed it
    return True


@final
class Reserve:
    """The reserve of one store. It is not held before `open`, which is called at the start."""

    __slots__ = ("_background", "_disk", "_next", "_ticket", "is_held")

    def __init__(self, disk: Disk, background: Background) -> None:
        self._disk = disk
        self._background = background
        self._next = float("-inf")
        self._ticket = 0
        self.is_held = False

    def open(self) -> None:
        """Allocate the file, unless it exists. On a full disk the reserve is not held. Blocks."""
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
        """Free the reserve; whether that made any space."""
        if not self.is_held:
            return False
        self.is_held = False
        return free(self._disk)

    def turn(self, now: float) -> None:
        """Allocate the file again, if there is space."""
        if self.is_held or self._ticket or now < self._next:
            return
        self._next = now + RETRY_SECONDS
        try:
            size = self._size()
            # If twice as much is free, allocating it does not fill the disk again.
            if self._disk.usage(OWN).free_bytes >= 2 * size:
                file = self._file()
                self._ticket = self._background.allocate(file, 0, size)
                file.close()
        except DiskError:
            return  # tried again later

    def take(self, completion: Completion) -> bool:
        """Whether the completion is for the reserve."""
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
