"""Turns the store of a stopped member into the store of another group."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from gantrymq.ha.disk import identity
from gantrymq.ha.member import persistent_state
from gantrymq.runtime.storage.disk import FolderDisk

FOREIGN_DISK: Final = "f0" * 16
FOREIGN_GROUP: Final = "f1" * 16
FOREIGN_EPOCH: Final = 10_000


def make_foreign(store: Path) -> None:
    """Change the store so that the member's next start finds the disk of another group."""
    disk = FolderDisk(store)
    known = identity.read(disk)
    assert known is not None
    identity.write(disk, replace(known, disk=FOREIGN_DISK, group=FOREIGN_GROUP))
    persistent_state.write(disk, replace(persistent_state.read(disk), epoch=FOREIGN_EPOCH))
