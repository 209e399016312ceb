"""Volumes of a simulated group: what a member's seat may find mounted, and where it comes from.

    blank      nothing on it
    foreign    of another group with the same names, which had higher epochs
    snapshot   of a volume as it was at some moment, as a storage system takes it: what was synced,
               and any of the rest

A volume has a key in the checks: its log is compared under it. That of a seat's own volume is the
seat's number; another one's begins at `TWIN` or `FOREIGN`.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final, final

from gantrymq.fakes.stores.store import OpenedStore
from gantrymq.ha.disk import epoch_file, identity
from gantrymq.ha.disk.epochs import Epoch
from gantrymq.ha.disk.identity import Identity
from gantrymq.ha.member import persistent_state
from gantrymq.ha.member.persistent_state import PersistentState
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.faulty_disk import Faults, FaultyDisk
from gantrymq.testing.memory_disk import Storage
from gantrymq.testing.unsynced import Chooser, keep_all

DISK_BYTES: Final = 1 << 24
QUIET: Final = Faults()

TWIN: Final = 1000
FOREIGN: Final = 2000
"""Keys of volumes that are not their seat's own, and the seat's number on top."""

FOREIGN_TOPIC: Final = "of-another-group"
_FOREIGN_EPOCHS: Final = 5
_FOREIGN_MESSAGES: Final = 30


@final
@dataclass(slots=True)
class Volume:
    """A disk with a store directory, and the broker's `config/` beside it."""

    disk: FaultyDisk
    key: int
    files: dict[str, bytes] = field(default_factory=dict)
    """The files of its `config/` that are on the disk."""
    has_lied: bool = False
    """Whether it said that something was on it which was not, since it was last found as it is."""
    is_damaged: bool = False
    """Whether that has come out, and no process has started on it since."""

    def unmount(self) -> None:
        """In order: all that was written is on it, and nothing is cached any more."""
        choose, self.disk.choose = self.disk.choose, keep_all
        self.disk = self.disk.crash()
        self.disk.choose = choose
        self._lies_no_more()

    def crash(self) -> bool:
        """The power goes, or the mount. Whether it had lied: that comes out now."""
        had_lied = self.has_lied
        self.disk = self.disk.crash()
        self.is_damaged |= had_lied
        self._lies_no_more()
        return had_lied

    def _lies_no_more(self) -> None:
        """It was chosen when others had everything, which may be different from now on."""
        self.has_lied = False
        self.disk.faults = replace(self.disk.faults, lost_sync=0)

    def snapshot(self) -> Volume:
        """A copy of it as the storage system sees it now; it is well, and has space."""
        disk = deepcopy(self.disk).crash()
        disk.faults = QUIET
        disk.memory.total_bytes = DISK_BYTES
        return Volume(disk, self.key, dict(self.files))

    def befall(self, faults: Faults) -> None:
        """It refuses calls by chance from now on, or lies."""
        self.disk.faults = faults
        self.has_lied |= bool(faults.lost_sync)

    def fill(self, free_bytes: int | None) -> None:
        """It has only so much left; None: enough again."""
        memory = self.disk.memory
        used = memory.total_bytes - memory.storage.free_bytes
        memory.total_bytes = DISK_BYTES if free_bytes is None else used + free_bytes


def blank(key: int, choose: Chooser, wall_ms: int) -> Volume:
    return Volume(FaultyDisk(choose, storage=Storage(DISK_BYTES, wall_ms)), key)


def foreign(seat: int, settings: StoreSettings, choose: Chooser, random: Random) -> Volume:
    """The volume of another group, which has had more masters than this one will have."""
    volume = blank(FOREIGN + seat, keep_all, 0)
    store = OpenedStore(volume.disk, settings, is_copy=False)
    ends = [0]
    for _ in range(_FOREIGN_EPOCHS):
        store.put(*range(_FOREIGN_MESSAGES // _FOREIGN_EPOCHS), topic=FOREIGN_TOPIC)
        store.turn()
        store.settle()
        ends.append(store.store.log.end)
    store.close()
    epochs = tuple(Epoch(1 + 40 * at, start) for at, start in enumerate(ends[:-1]))
    epoch_file.write(volume.disk, epochs)
    persistent_state.write(
        volume.disk, PersistentState(epochs[-1].number, "boot of another machine")
    )
    identity.write(volume.disk, Identity(random.randbytes(16).hex(), random.randbytes(16).hex()))
    volume.unmount()
    volume.disk.choose = choose
    return volume


def log_of(volume: Volume) -> Mapping[str, bytes]:
    """Its log and its epochs, byte by byte, by the names of their files."""
    return {
        f"{folder}/{entry.name}": _content(volume.disk, f"{folder}/{entry.name}")
        for folder in ("commitlog", "gantry")
        for entry in volume.disk.memory.list(folder)
        if folder == "commitlog" or entry.name == "epochs"
    }


def _content(disk: FaultyDisk, path: str) -> bytes:
    file = disk.memory.open(path)
    content = file.read(0, file.size())
    file.close()
    return content.rstrip(b"\0")
