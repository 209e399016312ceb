"""Keeps a note on disk that queues may have false units: an empty file, `gantry/unsettled`.

The note is synced before any change to queues that may require wiping. It is removed when
everything that was wiped is synced. If it reappears after a crash, queues are wiped once more
without need.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.base.disk import Disk, DiskError, DiskFailure
from gantrymq.store.layout import OWN

PATH: Final = f"{OWN}/unsettled"


@final
class DirtyQueues:
    """The note for the queues of one store."""

    __slots__ = ("_disk", "stands")

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self.stands = False
        """Whether the note exists, as far as `look` and `write` know."""

    def look(self) -> None:
        """Check whether the previous process left the note."""
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
