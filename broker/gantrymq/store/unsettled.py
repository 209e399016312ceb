"""The note that queues may hold false units: an empty file, `gantry/unsettled`.

It is on disk for good before a queue is touched that a wiping may follow, and goes when everything
that was wiped is synced. Where it reappears after a crash, queues are wiped once more in vain.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.base.disk import Disk, DiskError, DiskFailure
from gantrymq.store.layout import OWN

PATH: Final = f"{OWN}/unsettled"


@final
class UnsettledNote:
    """Of one store's queues."""

    __slots__ = ("_disk", "stands")

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self.stands = False
        """Whether there is one, as far as `look` and `write` know."""

    def look(self) -> None:
        """Find out whether the last process left one."""
        self.stands = any(f"{OWN}/{each.name}" == PATH for each in self._disk.list(OWN))

    def write(self) -> None:
        disk = self._disk
        disk.make_folder(OWN)
        try:
            disk.create(PATH).close()
        except DiskError as error:
            if error.failure is not DiskFailure.EXISTS:
                raise
        disk.sync_folder(OWN)
        disk.sync_folder("")
        self.stands = True

    def remove(self) -> None:
        try:
            self._disk.remove(PATH)
        except DiskError as error:
            if error.failure is not DiskFailure.NOT_FOUND:
                raise
        self.stands = False
